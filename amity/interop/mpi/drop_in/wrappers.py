#!/usr/bin/env python3
"""Writes the functions of MPI that are not one-sided, for one MPI: wrappers.py PREPROCESSED_MPI_H OUTPUT.

While a rank is in a function of the MPI, other ranks may need it for their one-sided calls. So this library defines each
function that may block or that a program may call in a loop, under the names MPI_X and PMPI_X. KINDS says what each one
does; wrapping.hpp has the parts. A function of mpi.h that KINDS lacks is an error: a new MPI may have functions that block.
"""

import dataclasses
import re
import sys

# Each function without its prefix MPI_ (but with MPIX_), by kind. The form X_c of MPI-4 has the kind of X.
KINDS = {
    # Blocking collectives with a nonblocking form. It takes the same arguments and a request.
    "collective": """
        Allgather Allgatherv Allreduce Alltoall Alltoallv Alltoallw Barrier Bcast Exscan Gather Gatherv
        Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw
        Reduce Reduce_scatter Reduce_scatter_block Scan Scatter Scatterv""",
    # Blocking communication of one process with a nonblocking form. It takes the same arguments without the status, and a
    # request.
    "point_to_point": "Mrecv Recv Rsend Send Ssend",
    # Blocking functions that wrapping.hpp has a function of the same name for.
    "special": """
        File_close File_open Intercomm_create Mprobe Probe Sendrecv Sendrecv_replace Wait Waitall Waitany Waitsome""",
    # Collectives that may block and have no nonblocking form, or one that differs (MPI_Comm_idup copies attributes at
    # another time). All processes of the first communicator or file among the arguments call it.
    "synchronized": """
        Cart_create Cart_sub Comm_create Comm_disconnect Comm_dup Comm_dup_with_info Comm_split Comm_split_type
        Dist_graph_create Dist_graph_create_adjacent
        File_preallocate File_read_all File_read_all_begin File_read_at_all File_read_at_all_begin File_read_ordered
        File_read_ordered_begin File_seek_shared File_set_atomicity File_set_info File_set_size File_set_view File_sync
        File_write_all File_write_all_begin File_write_at_all File_write_at_all_begin File_write_ordered
        File_write_ordered_begin
        Graph_create Intercomm_merge""",
    # The same, or for a single process, and the new communicator may have processes of other jobs.
    "joining": """
        Comm_accept Comm_connect Comm_create_from_group Comm_join Comm_spawn Comm_spawn_multiple
        Intercomm_create_from_groups""",
    # Functions that a program may call in a loop, until something has happened, and functions that may block for a time
    # that does not depend on what other processes do in their programs, or that not all processes of a communicator
    # call. MPI_Comm_free is local in each MPI, and programs rely on that.
    "polled": """
        Allgather_init Allgatherv_init Allreduce_init Alltoall_init Alltoallv_init Alltoallw_init Barrier_init Bcast_init
        Exscan_init Gather_init Gatherv_init Neighbor_allgather_init Neighbor_allgatherv_init Neighbor_alltoall_init
        Neighbor_alltoallv_init Neighbor_alltoallw_init Reduce_init Reduce_scatter_block_init Reduce_scatter_init
        Scan_init Scatter_init Scatterv_init
        Bsend Buffer_detach Buffer_flush Buffer_iflush Comm_create_group Comm_detach_buffer Comm_flush_buffer Comm_free
        Comm_idup Comm_idup_with_info Comm_iflush_buffer Comm_set_info Lookup_name Publish_name Session_detach_buffer
        Session_flush_buffer Session_iflush_buffer Unpublish_name
        File_iread File_iread_all File_iread_at File_iread_at_all File_iread_shared
        File_iwrite File_iwrite_all File_iwrite_at File_iwrite_at_all File_iwrite_shared
        File_delete File_read File_read_all_end File_read_at File_read_at_all_end File_read_ordered_end File_read_shared
        File_write File_write_all_end File_write_at File_write_at_all_end File_write_ordered_end File_write_shared
        Iallgather Iallgatherv Iallreduce Ialltoall Ialltoallv Ialltoallw Ibarrier Ibcast Iexscan Igather Igatherv
        Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw
        Ireduce Ireduce_scatter Ireduce_scatter_block Iscan Iscatter Iscatterv
        Ibsend Improbe Imrecv Iprobe Irecv Irsend Isend Isendrecv Isendrecv_replace Issend
        Parrived Pready Pready_list Pready_range Precv_init Psend_init
        Request_get_status Request_get_status_all Request_get_status_any Request_get_status_some Start Startall Test
        Testall Testany Testsome""",
    # Functions whose PMPI_X other sources of this library define, because they belong to windows, to their errors, or to the
    # beginning and the end. This one adds MPI_X.
    "served": """
        Abort Accumulate Alloc_mem Compare_and_swap Error_string Fetch_and_op Finalize Free_mem Get Get_accumulate Init Init_thread
        Put Raccumulate Rget Rget_accumulate Rput Win_allocate Win_allocate_shared Win_attach Win_complete Win_create
        Win_create_dynamic Win_detach Win_fence Win_flush Win_flush_all Win_flush_local Win_flush_local_all
        Win_free Win_get_attr Win_get_info Win_lock Win_lock_all Win_post Win_set_attr Win_set_info Win_shared_query
        Win_start Win_sync Win_test Win_unlock Win_unlock_all Win_wait""",
    # Functions of windows and sessions that are left to the MPI.
    "own": """
        Session_finalize Session_init Win_call_errhandler Win_create_errhandler
        Win_create_keyval Win_delete_attr Win_free_keyval Win_get_errhandler Win_get_group Win_get_name
        Win_set_errhandler Win_set_name""",
    # Functions that return at once, whatever other processes do.
    "local": """
        Abi_get_fortran_booleans Abi_get_fortran_info Abi_get_info Abi_get_version Abi_set_fortran_booleans
        Abi_set_fortran_info Add_error_class Add_error_code Add_error_string Address Aint_add Aint_diff Attr_delete
        Attr_get Attr_put Bsend_init Buffer_attach Cancel Cart_coords Cart_get Cart_map Cart_rank Cart_shift
        Cartdim_get Close_port Comm_attach_buffer Comm_c2f Comm_call_errhandler Comm_compare Comm_create_errhandler
        Comm_create_keyval Comm_delete_attr Comm_f2c Comm_free_keyval Comm_fromint Comm_get_attr Comm_get_errhandler
        Comm_get_info Comm_get_name Comm_get_parent Comm_group Comm_rank Comm_remote_group Comm_remote_size
        Comm_set_attr Comm_set_errhandler Comm_set_name Comm_size Comm_test_inter Comm_toint Dims_create
        Dist_graph_neighbors Dist_graph_neighbors_count Errhandler_c2f Errhandler_create Errhandler_f2c
        Errhandler_free Errhandler_fromint Errhandler_get Errhandler_set Errhandler_toint Error_class
        File_c2f File_call_errhandler File_create_errhandler File_f2c File_fromint File_get_amode File_get_atomicity
        File_get_byte_offset File_get_errhandler File_get_group File_get_info File_get_position
        File_get_position_shared File_get_size File_get_type_extent File_get_view File_seek File_set_errhandler
        File_toint Finalized Get_address Get_count Get_elements Get_elements_x Get_hw_resource_info
        Get_library_version Get_processor_name Get_version Graph_get Graph_map Graph_neighbors Graph_neighbors_count
        Graphdims_get Grequest_complete Grequest_start Group_c2f Group_compare Group_difference Group_excl Group_f2c
        Group_free Group_from_session_pset Group_fromint Group_incl Group_intersection Group_range_excl
        Group_range_incl Group_rank Group_size Group_toint Group_translate_ranks Group_union Info_c2f Info_create
        Info_create_env Info_delete Info_dup Info_f2c Info_free Info_fromint Info_get Info_get_nkeys Info_get_nthkey
        Info_get_string Info_get_valuelen Info_set Info_toint Initialized Is_thread_main Keyval_create Keyval_free
        Message_c2f Message_f2c Message_fromint Message_toint Op_c2f Op_commutative Op_create Op_f2c Op_free
        Op_fromint Op_toint Open_port Pack Pack_external Pack_external_size Pack_size Pcontrol Query_thread
        Recv_init Reduce_local Register_datarep Remove_error_class Remove_error_code Remove_error_string Request_c2f
        Request_f2c Request_free Request_fromint Request_toint Rsend_init Send_init Session_attach_buffer
        Session_call_errhandler Session_create_errhandler Session_fromint Session_get_errhandler Session_get_info
        Session_get_nth_pset Session_get_num_psets Session_get_pset_info Session_set_errhandler Session_toint
        Ssend_init Status_c2f Status_c2f08 Status_f082c Status_f082f Status_f2c Status_f2f08 Status_get_error
        Status_get_source Status_get_tag Status_set_cancelled Status_set_elements Status_set_elements_x
        Status_set_error Status_set_source Status_set_tag Test_cancelled Topo_test Type_c2f Type_commit
        Type_contiguous Type_create_darray Type_create_f90_complex Type_create_f90_integer Type_create_f90_real
        Type_create_hindexed Type_create_hindexed_block Type_create_hvector Type_create_indexed_block
        Type_create_keyval Type_create_resized Type_create_struct Type_create_subarray Type_delete_attr Type_dup
        Type_extent Type_f2c Type_free Type_free_keyval Type_fromint Type_get_attr Type_get_contents
        Type_get_envelope Type_get_extent Type_get_extent_x Type_get_name Type_get_true_extent
        Type_get_true_extent_x Type_get_value_index Type_hindexed Type_hvector Type_indexed Type_lb Type_match_size
        Type_set_attr Type_set_name Type_size Type_size_x Type_struct Type_toint Type_ub Type_vector Unpack
        Unpack_external Win_c2f Win_f2c Win_fromint Win_toint Wtick Wtime""",
    # Extensions of an MPI, which are left to it. (MPIX_Comm_agree and MPIX_Comm_shrink block.)
    "extension": """
        MPIX_Comm_agree MPIX_Comm_failure_ack MPIX_Comm_failure_get_acked MPIX_Comm_revoke MPIX_Comm_shrink
        MPIX_Delete_error_class MPIX_Delete_error_code MPIX_Delete_error_string MPIX_GPU_query_support
        MPIX_Grequest_class_allocate MPIX_Grequest_class_create MPIX_Grequest_start MPIX_Query_cuda_support
        MPIX_Query_hip_support MPIX_Query_ze_support""",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}
# Collectives whose nonblocking forms are wrong in an MPI, which a name in its mpi.h tells from others: they are "synchronized".
# Open MPI 4.1 mixes up the two messages of a neighbour that is there twice, and hangs for data types without bytes.
FLAWED = {"ompi_communicator_t":
          "Alltoallv Alltoallw Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw".split()}
HEAD = '[[gnu::visibility("default")]] '
WRAPPED = ("collective", "point_to_point", "special", "synchronized", "joining", "polled")
# Handlers of active messages must not call these.
BLOCKING = ("collective", "point_to_point", "special", "synchronized", "joining")
# What a special function needs of the MPI besides itself. X_c needs these with _c, where the MPI has them.
PARTS = {"Mprobe": ("Improbe",), "Probe": ("Iprobe",), "Sendrecv": ("Irecv", "Isend"),
         "Sendrecv_replace": ("Irecv", "Isend", "Pack", "Pack_size"), "Wait": ("Test",), "Waitall": ("Testall",),
         "Waitany": ("Testany",), "Waitsome": ("Testsome",)}
# When a function communicates with no process, and does not block. MPICH does not give MPI_Irecv the right status then.
NO_PROCESS = {"Mrecv": "*message == MPI_MESSAGE_NO_PROC", "Recv": "source == MPI_PROC_NULL",
              **dict.fromkeys(("Rsend", "Send", "Ssend"), "dest == MPI_PROC_NULL")}
# These may call other functions of MPI, on communicators that the program does not know: parts of MPIs are written so.
NESTED = re.compile(r"File_|Request_get_status|Test(all|any|some)?$")

DECLARATION = re.compile(r"^(?:extern )?([\w ]+?[ *]+)(MPIX?_\w+) ?\((.*)\)$")
PARAMETER_NAME = re.compile(r"(\w+) ?((?:\[\w*\])*)$")
# Names that MPIs give parameters and that mean something else to the C library's headers.
RENAMED = {"index": "indx"}


class UnknownFunctions(Exception):
    """Functions that mpi.h has and KINDS lacks, or that do not look as their kind does."""


@dataclasses.dataclass
class Parameter:
    type: str  # with "[]" for an array
    name: str
    declaration: str

    @property
    def pointer_type(self):
        """The type, in one spelling for arrays and pointers."""
        return re.sub(r" ?\[\w*\]$", "*", self.type).replace(" *", "*")


@dataclasses.dataclass
class Function:
    name: str  # without MPI_
    result: str
    parameters: list

    @property
    def native(self):
        return f"native_{snake(self.name)}"

    @property
    def base(self):
        """The name of the function that this one is a form of, for large counts."""
        return self.name.removesuffix("_c")

    @property
    def kind(self):
        return KIND_OF.get(self.base)

    @property
    def declared(self):
        return ", ".join(parameter.declaration for parameter in self.parameters) or "void"

    @property
    def values(self):
        return [parameter.name for parameter in self.parameters]


def snake(name):
    return name.lower()


def full(name, prefix=""):
    return prefix + (name if name.startswith("MPIX_") else f"MPI_{name}")


def without_nested(text, opening, closing):
    """Removes the pairs of `opening` and `closing`, with what they enclose."""
    kept, depth = [], 0
    for part in re.split(f"([{re.escape(opening + closing)}])", text):
        if part == opening:
            depth += 1
        elif part == closing:
            depth -= 1
        elif depth == 0:
            kept.append(part)
    return "".join(kept)


def without_attributes(text):
    kept, end = [], 0
    for match in re.finditer(r"__attribute__\s*\(", text):
        if match.start() < end:
            continue
        kept.append(text[end:match.start()])
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
    return "".join(kept) + text[end:]


def parameters_of(text):
    if text.strip() in ("", "void"):
        return []
    parameters = []
    for number, part in enumerate(text.split(",")):
        part = part.strip()
        if part == "...":
            return parameters
        match = PARAMETER_NAME.search(part)
        name = RENAMED.get(match.group(1), match.group(1))
        if part in ("MPI_Comm", "int", "MPI_Aint"):  # no name
            parameters.append(Parameter(part, f"argument{number}", f"{part} argument{number}"))
            continue
        type_name = part[:match.start()].strip()
        declaration = type_name + ("" if type_name.endswith("*") else " ") + name + match.group(2)
        parameters.append(Parameter(type_name + match.group(2), name, declaration))
    return parameters


def functions_of(text):
    """Returns the functions that a preprocessed mpi.h declares, by name. Those of tools (MPI_T_) are left out."""
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    functions = {}
    for statement in without_nested(without_attributes(text), "{", "}").split(";"):
        statement = re.sub(r"\s+", " ", statement).strip()
        statement = re.sub(r"^(static|inline|__inline__|__extension__) ", "", statement)
        match = DECLARATION.match(statement)
        if match is None or statement.startswith("typedef") or match.group(2).startswith("MPI_T_"):
            continue
        name = match.group(2).removeprefix("MPI_")
        functions[name] = Function(name, match.group(1).strip(), parameters_of(match.group(3)))
    return functions


class Writer:
    """The source for the functions of one mpi.h."""

    def __init__(self, functions, flawed=()):
        self.functions = functions
        self.flawed = flawed  # collectives that are called as they are
        self.natives = {}  # functions of the MPI that the source calls

    def native(self, name):
        function = self.functions.get(name)
        if function is None:
            raise UnknownFunctions(f"mpi.h has no {full(name)}")
        self.natives[name] = function
        return function.native

    def call(self, function):
        return f"{self.native(function.name)}({', '.join(function.values)})"

    def members(self, function):
        """The communicator or file whose processes call the function; None: there is none."""
        for parameter in function.parameters:
            if parameter.type in ("MPI_Comm", "MPI_File"):
                return parameter.name
        first = function.parameters[0]
        return f"*{first.name}" if first.pointer_type == "MPI_Comm*" else None

    def partner(self, function):
        """The nonblocking form, whose parameters have been compared."""
        name = "I" + function.name[0].lower() + function.name[1:]
        self.native(name)
        own = [each.pointer_type for each in function.parameters if each.pointer_type != "MPI_Status*"]
        if own + ["MPI_Request*"] != [each.pointer_type for each in self.functions[name].parameters]:
            raise UnknownFunctions(f"{full(name)} does not take the arguments of {full(function.name)} and a request")
        return self.functions[name]

    def body(self, function):
        """The statements of PMPI_X."""
        kind = "synchronized" if function.base in self.flawed else function.kind
        refusal = f'if (handler_call::exists()) return handler_call::refuse("{full(function.name)}");'
        return [refusal] * (kind in BLOCKING) + getattr(self, kind)(function)

    def collective(self, function):
        started = ", ".join(["MPI_STATUS_IGNORE", self.partner(function).native, *function.values])
        return [f"if (is_native({self.members(function)})) return {self.call(function)};", f"return complete({started});"]

    def point_to_point(self, function):
        values = [each.name for each in function.parameters if each.pointer_type != "MPI_Status*"]
        status = [each.name for each in function.parameters if each.pointer_type == "MPI_Status*"] or ["MPI_STATUS_IGNORE"]
        started = ", ".join([*status, self.partner(function).native, *values])
        return [f"if (is_idle() || {NO_PROCESS[function.base]}) return {self.call(function)};",
                f"return complete({started});"]

    def special(self, function):
        large = "_c" if function.name != function.base else ""
        parts = [self.native(part + large if part + large in self.functions else part)
                 for part in (function.base, *PARTS.get(function.base, ()))]
        return [f"return {snake(function.base)}({', '.join(parts + function.values)});"]

    def synchronized(self, function):
        return [f"meet({self.members(function)});", *self.plain_call(function)]

    def joining(self, function):
        members = self.members(function)
        return [f"meet({members});" if members else "poll();", f"return joined({self.call(function)});"]

    def polled(self, function):
        return ["poll();", *self.plain_call(function)]

    def plain_call(self, function):
        nested = ["const nested_calls of_mpi;"] if NESTED.match(function.base) else []
        return [*nested, f"return {self.call(function)};"]

    def source(self):
        unknown = sorted(full(each.name) for each in self.functions.values() if each.kind is None)
        if unknown:
            raise UnknownFunctions("mpi.h has functions without a kind: " + ", ".join(unknown) +
                                   "; add each to KINDS of wrappers.py, as its blocking demands")
        wrapped = [each for each in self.functions.values() if each.kind in WRAPPED]
        served = [each for each in self.functions.values() if each.kind == "served"]
        definitions = [line for each in wrapped for line in [*self.definition(each), *self.entry(each)]]
        definitions += [line for each in served for line in self.entry(each)]
        return "\n".join([
            "// Written by wrappers.py from mpi.h.",
            "",
            '#include "amity/interop/mpi/drop_in/wrapping.hpp"',
            "",
            "namespace {",
            "",
            "using namespace amity::mpi;",
            "using namespace amity::mpi::wrapping;",
            "",
            *(f'constinit native_function<decltype(&{full(each.name)})> {each.native}{{"{each.name}"}};'
              for each in sorted(self.natives.values(), key=lambda each: each.name)),
            "",
            *(f'constinit tool_function<decltype(&{full(each.name)})> tool_{snake(each.name)}{{"{full(each.name)}"}};'
              for each in wrapped + served),
            "",
            "}  // namespace",
            "",
            'extern "C" {',
            "",
            *definitions,
            '}  // extern "C"',
            ""])

    def definition(self, function):
        """PMPI_X."""
        return [f"{HEAD}{function.result} {full(function.name, 'P')}({function.declared}) {{",
                *(f"  {line}" for line in self.body(function)),
                "}"]

    def entry(self, function):
        """MPI_X, which calls PMPI_X, or first a tool."""
        arguments = ", ".join([f"tool_{snake(function.name)}", full(function.name, "P"), *function.values])
        return [f"{HEAD}{function.result} {full(function.name)}({function.declared}) {{",
                f"  return through_tool({arguments});",
                "}",
                ""]


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    with open(arguments[0], encoding="utf-8") as header:
        declarations = header.read()
    functions = functions_of(declarations)
    flawed = [name for mark, names in FLAWED.items() if mark in declarations for name in names]
    if not functions:
        sys.exit(f"wrappers.py: {arguments[0]} declares no function of MPI; pass the output of the compiler's -E for mpi.h")
    try:
        source = Writer(functions, flawed).source()
    except UnknownFunctions as problem:
        sys.exit(f"wrappers.py: {arguments[0]}: {problem}")
    with open(arguments[1], "w", encoding="utf-8") as output:
        output.write(source)


if __name__ == "__main__":
    main(sys.argv[1:])
