"""One-sided calls from Python, by mpi4py: each call, with each kind of argument that mpi4py translates. Buffers are those of
the standard library, and live until their operations are complete. Ends the job if anything is not so.

usage: windows.py [CASE | FLAVOR]...

The arguments name cases and flavors to leave out.
"""

import array
import contextlib
import faulthandler
import sys
import threading
import traceback

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()
NEXT, PREVIOUS = (RANK + 1) % SIZE, (RANK - 1) % SIZE
WORDS = 1024  # per window: 8,192 bytes, since MPICH 4.0 confuses the memory of smaller ones
BYTES = 8 * WORDS
HANG_SECONDS = 60


def words(*values):
    """Elements of 8 bytes, as the type MPI.INT64_T."""
    return array.array("q", values)


def as_words(buffer):
    return memoryview(buffer).cast("B").cast("q")


class Window:
    """A window of WORDS words per process, and the memory of this process. Displacements are words."""

    def __init__(self, flavor):
        self.flavor = flavor
        self.pieces = None
        self.base = 0
        if flavor == MPI.WIN_FLAVOR_CREATE:
            self.pieces = bytearray(BYTES)
            self.win = MPI.Win.Create(self.pieces, 8, comm=WORLD)
        elif flavor == MPI.WIN_FLAVOR_ALLOCATE:
            self.win = MPI.Win.Allocate(BYTES, 8, comm=WORLD)
        elif flavor == MPI.WIN_FLAVOR_SHARED:
            self.win = MPI.Win.Allocate_shared(BYTES, 8, comm=WORLD)
        else:
            self.win = MPI.Win.Create_dynamic(comm=WORLD)
            self.pieces = array.array("q", bytes(BYTES))
            self.win.Attach(self.pieces)
        memory = self.pieces if flavor == MPI.WIN_FLAVOR_DYNAMIC else self.win.tomemory()
        self.memory = as_words(memory)
        # A displacement in a dynamic window is an address.
        self.addresses = WORLD.allgather(MPI.Get_address(self.memory))

    def clear(self):
        """Collective: from now on all words are 0."""
        WORLD.Barrier()
        with self.update():
            self.memory[:] = array.array("q", bytes(BYTES))
        WORLD.Barrier()

    def at(self, target, index, count=1):
        """Words of the target."""
        place = self.addresses[target] + 8 * index if self.flavor == MPI.WIN_FLAVOR_DYNAMIC else index
        return (place, count, MPI.INT64_T)

    def update(self):
        """This process loads and stores its own memory in this block."""
        return locked(self.win, RANK, MPI.LOCK_EXCLUSIVE)

    def own(self, index):
        with self.update():
            return self.memory[index]

    def free(self):
        self.memory.release()
        if self.flavor == MPI.WIN_FLAVOR_DYNAMIC:
            WORLD.Barrier()
            self.win.Detach(self.pieces)
        self.win.Free()


@contextlib.contextmanager
def locked(win, target, kind=MPI.LOCK_SHARED):
    win.Lock(target, kind)
    yield
    win.Unlock(target)


@contextlib.contextmanager
def all_locked(win):
    win.Lock_all()
    yield
    win.Unlock_all()


def check_equal(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: {found}, and not {expected}")


def attributes(of):
    check_equal(of.win.Get_attr(MPI.WIN_CREATE_FLAVOR), of.flavor, "flavor")
    check_equal(of.win.Get_attr(MPI.WIN_MODEL), MPI.WIN_UNIFIED, "model")
    group, world = of.win.Get_group(), WORLD.Get_group()
    check_equal(MPI.Group.Compare(group, world), MPI.IDENT, "group")
    if of.flavor != MPI.WIN_FLAVOR_DYNAMIC:
        check_equal(of.win.Get_attr(MPI.WIN_SIZE), BYTES, "size")
        check_equal(of.win.Get_attr(MPI.WIN_DISP_UNIT), 8, "unit")
        check_equal(of.win.Get_attr(MPI.WIN_BASE), MPI.Get_address(of.memory), "base")
    of.win.Set_name("a window")
    check_equal(of.win.Get_name(), "a window", "name")
    key = MPI.Win.Create_keyval()
    of.win.Set_attr(key, ["an", "object"])
    check_equal(of.win.Get_attr(key), ["an", "object"], "attribute of the program")
    of.win.Delete_attr(key)
    check_equal(of.win.Get_attr(key), None, "attribute that is deleted")
    MPI.Win.Free_keyval(key)


def fence(of):
    numbers, found = words(*range(WORDS)), array.array("q", bytes(BYTES))
    of.win.Fence()
    of.win.Put([numbers, WORDS, MPI.INT64_T], NEXT, of.at(NEXT, 0, WORDS))
    of.win.Fence()
    check_equal(list(of.memory), list(numbers), "words that were put")
    of.win.Fence()
    of.win.Get([found, WORDS, MPI.INT64_T], NEXT, of.at(NEXT, 0, WORDS))
    of.win.Fence(MPI.MODE_NOSUCCEED)
    check_equal(found, numbers, "words that were got")


def strided(of):
    """The origin takes each second word of its buffer, and the target each third one."""
    count = 16
    at_origin = MPI.INT64_T.Create_vector(count, 1, 2).Commit()
    at_target = MPI.INT64_T.Create_vector(count, 1, 3).Commit()
    numbers = words(*range(2 * count))
    place, _, _ = of.at(NEXT, 100)
    of.win.Fence()
    of.win.Put([numbers, 1, at_origin], NEXT, (place, 1, at_target))
    of.win.Fence(MPI.MODE_NOSUCCEED)
    check_equal(list(of.memory[100:100 + 3 * count:3]), list(range(0, 2 * count, 2)), "strided words")
    at_origin.Free()
    at_target.Free()


def post_start_complete_wait(of):
    world = WORLD.Get_group()
    origins, targets = world.Incl([PREVIOUS]), world.Incl([NEXT])
    for turn in range(2):
        numbers = words(turn, RANK)
        of.win.Post(origins)
        of.win.Start(targets)
        of.win.Put([numbers, 2, MPI.INT64_T], NEXT, of.at(NEXT, 8, 2))
        of.win.Complete()
        if turn == 0:
            of.win.Wait()
        else:
            while not of.win.Test():
                pass
        check_equal(list(of.memory[8:10]), [turn, PREVIOUS], "words after post and wait")
    for group in (origins, targets, world):
        group.Free()


def sums(of):
    before, one, three = words(0), words(1), words(3)
    with all_locked(of.win):
        of.win.Accumulate([three, 1, MPI.INT64_T], NEXT, of.at(NEXT, 20), MPI.SUM)
        of.win.Flush_all()
        of.win.Fetch_and_op([one, MPI.INT64_T], [before, MPI.INT64_T], NEXT, of.at(NEXT, 20)[0], MPI.SUM)
        of.win.Flush(NEXT)
        check_equal(before[0], 3, "sum before Fetch_and_op")
        of.win.Get_accumulate([three, 1, MPI.INT64_T], [before, 1, MPI.INT64_T], NEXT, of.at(NEXT, 20), MPI.MAX)
        of.win.Flush(NEXT)
        check_equal(before[0], 4, "sum before Get_accumulate")
    WORLD.Barrier()
    check_equal(of.own(20), 4, "sum")


def swaps(of):
    nothing, seven, found = words(0), words(7), words(-1)
    with locked(of.win, NEXT):
        of.win.Compare_and_swap([seven, MPI.INT64_T], [nothing, MPI.INT64_T], [found, MPI.INT64_T], NEXT, of.at(NEXT, 30)[0])
    WORLD.Barrier()
    check_equal((found[0], of.own(30)), (0, 7), "swap")


def requests(of):
    """The buffer for results is an array of bytes."""
    found, numbers, one, four = bytearray(16), words(RANK, -RANK), words(1), words(4)
    with locked(of.win, NEXT):
        put = of.win.Rput([numbers, 2, MPI.INT64_T], NEXT, of.at(NEXT, 40, 2))
        put.Wait()
        of.win.Flush(NEXT)
        got = of.win.Rget([found, 2, MPI.INT64_T], NEXT, of.at(NEXT, 40, 2))
        MPI.Request.Waitall([got])
        check_equal(list(as_words(found)), [RANK, -RANK], "words that a request has got")
        of.win.Raccumulate([one, 1, MPI.INT64_T], NEXT, of.at(NEXT, 42), MPI.REPLACE).Wait()
        of.win.Flush_local(NEXT)
        before = of.win.Rget_accumulate([four, 1, MPI.INT64_T], [found, 1, MPI.INT64_T], NEXT, of.at(NEXT, 42), MPI.SUM)
        while not before.Test():
            pass
        check_equal(as_words(found)[0], 1, "word before the sum")
    WORLD.Barrier()
    check_equal(of.own(42), 5, "sum of a request")


def memory_of_others(of):
    """Shared windows: loads of the memory of the next process."""
    if of.flavor != MPI.WIN_FLAVOR_SHARED:
        return
    with all_locked(of.win):
        of.memory[50] = 1000 + RANK
        of.win.Sync()
        WORLD.Barrier()
        of.win.Sync()
        theirs, unit = of.win.Shared_query(NEXT)
        check_equal((unit, len(theirs)), (8, BYTES), "unit and size of shared memory")
        check_equal(as_words(theirs)[50], 1000 + NEXT, "word in shared memory")
        WORLD.Barrier()


def errors(of):
    """Each is an exception with the class of the standard, and the window works afterwards."""
    nine = [words(9), 1, MPI.INT64_T]

    def check_class(expected, call, *arguments):
        try:
            call(*arguments)
        except MPI.Exception as raised:
            check_equal(raised.Get_error_class(), expected, f"class of an error ({raised.Get_error_string()})")
        else:
            raise AssertionError(f"no exception of {call.__name__}, and not {expected}")

    check_class(MPI.ERR_RMA_SYNC, of.win.Put, nine, RANK, of.at(RANK, 0))
    check_class(MPI.ERR_RANK, of.win.Lock, SIZE)
    with locked(of.win, NEXT):
        if of.flavor != MPI.WIN_FLAVOR_DYNAMIC:
            check_class(MPI.ERR_RMA_RANGE, of.win.Put, nine, NEXT, of.at(NEXT, WORDS))
        of.win.Put(nine, NEXT, of.at(NEXT, 60))
    WORLD.Barrier()
    check_equal(of.own(60), 9, "put after the errors")


def threads(of):
    """mpi4py lets other threads run during a call."""
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        return

    def add():
        one, before = words(1), words(0)
        for _ in range(20):
            of.win.Fetch_and_op([one, MPI.INT64_T], [before, MPI.INT64_T], NEXT, of.at(NEXT, 70)[0], MPI.SUM)
            of.win.Flush(NEXT)

    with all_locked(of.win):
        other = threading.Thread(target=add)
        other.start()
        add()
        other.join()
    WORLD.Barrier()
    check_equal(of.own(70), 40, "sum of two threads")


def main():
    left_out = set(sys.argv[1:])
    cases = (attributes, fence, strided, post_start_complete_wait, sums, swaps, requests, memory_of_others, errors, threads)
    flavors = {"created": MPI.WIN_FLAVOR_CREATE, "allocated": MPI.WIN_FLAVOR_ALLOCATE, "shared": MPI.WIN_FLAVOR_SHARED,
               "dynamic": MPI.WIN_FLAVOR_DYNAMIC}
    for name, flavor in flavors.items():
        if name in left_out:
            continue
        of = Window(flavor)
        for case in cases:
            if case.__name__ not in left_out:
                of.clear()
                case(of)
        of.free()
    if RANK == 0:
        print(f"windows of Python: all right ({MPI.get_vendor()[0]})")


faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
try:
    main()
except BaseException:
    traceback.print_exc()
    sys.stderr.flush()
    WORLD.Abort(1)
