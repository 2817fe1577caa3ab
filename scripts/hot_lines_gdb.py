"""Runs in gdb for scripts/hot_lines: steps through the marked parts of a program, and notes the memory that they touch.

The program calls `hot_lines_begin(part, rank, objects, count)` and `hot_lines_end(counts)`. Each instruction between
these calls is disassembled; the addresses of its operands follow from the registers. Writes JSON to $HOT_LINES_OUTPUT.
"""

import json
import os
import re
import struct

import gdb

LINE_BYTES = 64
WIDTHS = {"BYTE": 1, "WORD": 2, "DWORD": 4, "FWORD": 6, "QWORD": 8, "TBYTE": 10, "XMMWORD": 16, "YMMWORD": 32, "ZMMWORD": 64}
OPERAND = re.compile(r"\b(\w+) PTR (?:(\w)s:)?(?:\[([^\]]+)\]|(0x[0-9a-f]+))")
TERM = re.compile(r"([+-]?)([^+-]+)")
# These compute with addresses, or ask for memory that they do not need.
WITHOUT_ACCESS = re.compile(r"(?:\w+ )*(?:lea|nop|prefetch\w*)\b")


class Program:
    """The program that gdb has stopped."""

    def __init__(self):
        self.instructions = {}
        self.functions = {}

    def register(self, name):
        return int(gdb.selected_frame().read_register(name)) & (2**64 - 1)

    def memory(self, address, layout):
        return struct.unpack(layout, bytes(gdb.selected_inferior().read_memory(address, struct.calcsize(layout))))

    def text(self, address):
        return gdb.Value(address).cast(gdb.lookup_type("char").pointer()).string()

    def instruction(self, at):
        """The operands in memory of the instruction at an address, as (width, segment, expression), and the next address."""
        if at not in self.instructions:
            decoded = gdb.selected_frame().architecture().disassemble(at)[0]
            operands = [] if WITHOUT_ACCESS.match(decoded["asm"]) else OPERAND.findall(decoded["asm"])
            self.instructions[at] = ([(WIDTHS[width], segment, expression or constant)
                                      for width, segment, expression, constant in operands], at + decoded["length"])
        return self.instructions[at]

    def address(self, segment, expression, next_instruction):
        """The value of an expression as `rax+rcx*8-0x10`."""
        total = self.register(segment + "s_base") if segment in ("f", "g") else 0
        for sign, term in TERM.findall(expression):
            value = 1
            for factor in term.split("*"):
                is_number = factor[0].isdigit()
                value *= int(factor, 0) if is_number else next_instruction if factor == "rip" else self.register(factor)
            total += -value if sign == "-" else value
        return total & (2**64 - 1)

    def function(self, at):
        if at not in self.functions:
            symbol = gdb.execute(f"info symbol {at}", to_string=True).split(" in section ")[0]
            self.functions[at] = re.sub(r" \+ \d+$", "", symbol.strip())
        return self.functions[at]

    def mapping(self, address):
        """The first and the last line of the mapping that holds an address."""
        with open(f"/proc/{gdb.selected_inferior().pid}/maps") as maps:
            for entry in maps:
                begin, end = (int(bound, 16) for bound in entry.split()[0].split("-"))
                if begin <= address < end:
                    return range(begin // LINE_BYTES, end // LINE_BYTES)
        raise gdb.GdbError(f"no mapping holds the address {address:#x}")


def objects_of(program, at, count):
    """{name: (address, bytes)} from an array of struct { const char* name; const void* at; std::size_t bytes; }."""
    entries = (program.memory(at + 24 * index, "QQQ") for index in range(count))
    return {program.text(name): (address, size) for name, address, size in entries}


def part_at_begin(program):
    """Reads the arguments of `hot_lines_begin`, steps to `hot_lines_end`, and returns what the part has touched."""
    part = {
        "part": program.text(program.register("rdi")),
        "rank": program.register("rsi"),
        "objects": objects_of(program, program.register("rdx"), program.register("rcx")),
    }
    gdb.execute("finish", to_string=True)
    lines = step_to(program, int(gdb.parse_and_eval("(unsigned long)&hot_lines_end")))
    part["lines"] = {line: sorted(functions) for line, functions in lines.items()}
    return part if program.register("rdi") & 1 else None


def step_to(program, end):
    """{line: functions that touch it} of the instructions from here to `end`, without the stack."""
    lines = {}
    stack = program.mapping(program.register("rsp"))
    at = program.register("rip")
    while at != end:
        operands, next_instruction = program.instruction(at)
        for width, segment, expression in operands:
            first = program.address(segment, expression, next_instruction)
            for line in range(first // LINE_BYTES, (first + width - 1) // LINE_BYTES + 1):
                if line not in stack:
                    lines.setdefault(line, set()).add(program.function(at))
        gdb.execute("stepi", to_string=True)
        if program.register("rsp") // LINE_BYTES not in stack:
            raise gdb.GdbError("the marked part of the program switches to another stack")
        at = program.register("rip")
    return lines


def main():
    for setting in ("pagination off", "confirm off", "disassembly-flavor intel", "disable-randomization on"):
        gdb.execute(f"set {setting}")
    gdb.execute("break hot_lines_begin", to_string=True)
    gdb.execute("run", to_string=True)
    program, parts = Program(), []
    while gdb.selected_inferior().pid != 0:
        part = part_at_begin(program)
        if part:
            parts.append(part)
        gdb.execute("continue", to_string=True)
    with open(os.environ["HOT_LINES_OUTPUT"], "w") as output:
        json.dump(parts, output)


main()
