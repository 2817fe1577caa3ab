! Windows of each flavor and epochs of each kind, by the interface of MPI for Fortran 2008.
program windows
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: address = MPI_ADDRESS_KIND
  integer :: rank, size, next, previous
  integer(kind=address), parameter :: bytes = 80, nothing = 0

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  previous = mod(rank + size - 1, size)
  call created
  call allocated(.false.)
  call allocated(.true.)
  call dynamic
  call MPI_Finalize()

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print *, 'rank', rank, ': not so: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine created
    type(MPI_Win) :: win
    double precision, asynchronous :: memory(10)
    character(MPI_MAX_OBJECT_NAME) :: name
    integer :: length
    memory = rank
    call MPI_Win_create(memory, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_get_name(win, name, length)
    call check(length == 0 .and. name == '', 'a new window has no name')
    call MPI_Win_set_name(win, 'grid of points')
    call MPI_Win_get_name(win, name, length)
    call check(length == 14 .and. name == 'grid of points', 'the name of a window')
    call use_window(win, memory)
    call MPI_Win_free(win)
    call check(win == MPI_WIN_NULL, 'the handle of a freed window')
  end subroutine

  subroutine allocated(shared)
    logical, intent(in) :: shared
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer(kind=address) :: found
    integer :: unit
    double precision, pointer, contiguous, asynchronous :: memory(:)
    if (shared) then
      call MPI_Win_allocate_shared(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
      call MPI_Win_shared_query(win, rank, found, unit, base)
      call check(found == bytes .and. unit == 8, 'the memory of a shared window')
    else
      call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    end if
    call c_f_pointer(base, memory, [10])
    memory = rank
    call MPI_Barrier(MPI_COMM_WORLD)
    call use_window(win, memory)
    call MPI_Win_free(win)
  end subroutine

  subroutine use_window(win, memory)
    type(MPI_Win), intent(in) :: win
    double precision, asynchronous :: memory(10)
    double precision, asynchronous :: value, seen
    type(MPI_Group) :: world, target, origin
    type(MPI_Request) :: request
    integer :: i
    call MPI_Barrier(MPI_COMM_WORLD)

    call MPI_Win_fence(0, win)
    value = 10 + rank
    call MPI_Put(value, 1, MPI_DOUBLE_PRECISION, next, 1_address, 1, MPI_DOUBLE_PRECISION, win)
    call MPI_Win_fence(0, win)
    call MPI_Get(seen, 1, MPI_DOUBLE_PRECISION, next, 1_address, 1, MPI_DOUBLE_PRECISION, win)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
    call check(seen == 10 + rank, 'a get with fences')
    call check(memory(2) == 10 + previous, 'a put with fences')

    call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)
    value = 1
    do i = 1, 20
      call MPI_Accumulate(value, 1, MPI_DOUBLE_PRECISION, 0, 3_address, 1, MPI_DOUBLE_PRECISION, MPI_SUM, win)
    end do
    call MPI_Win_unlock(0, win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock_all(0, win)
    call MPI_Fetch_and_op(value, seen, MPI_DOUBLE_PRECISION, 0, 3_address, MPI_NO_OP, win)
    call MPI_Win_flush(0, win)
    call check(seen == 20 * size, 'accumulates with locks')
    value = 30 + rank
    call MPI_Rput(value, 1, MPI_DOUBLE_PRECISION, next, 4_address, 1, MPI_DOUBLE_PRECISION, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Win_flush_all(win)
    call MPI_Win_unlock_all(win)
    call MPI_Barrier(MPI_COMM_WORLD)

    call MPI_Win_get_group(win, world)
    call MPI_Group_incl(world, 1, [next], target)
    call MPI_Group_incl(world, 1, [previous], origin)
    call MPI_Win_post(origin, 0, win)
    call MPI_Win_start(target, 0, win)
    value = 50 + rank
    call MPI_Put(value, 1, MPI_DOUBLE_PRECISION, next, 5_address, 1, MPI_DOUBLE_PRECISION, win)
    call MPI_Win_complete(win)
    call MPI_Win_wait(win)
    call check(memory(6) == 50 + previous, 'a put with post and start')
    call check(memory(5) == 30 + previous, 'a put with a request')
    call check(memory(1) == rank, 'memory that no one has changed')
    call MPI_Group_free(world)
    call MPI_Group_free(target)
    call MPI_Group_free(origin)
  end subroutine

  subroutine dynamic
    type(MPI_Win) :: win
    integer, asynchronous :: memory(4), value
    integer(kind=address) :: own, theirs
    memory = rank
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_attach(win, memory, 16 + nothing)
    call MPI_Get_address(memory(3), own)
    call MPI_Sendrecv(own, 1, MPI_AINT, previous, 0, theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Win_fence(0, win)
    value = 70 + rank
    call MPI_Put(value, 1, MPI_INTEGER, next, theirs, 1, MPI_INTEGER, win)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
    call check(memory(3) == 70 + previous .and. memory(2) == rank .and. memory(4) == rank, 'a put into attached memory')
    call MPI_Win_detach(win, memory)
    call MPI_Win_free(win)
  end subroutine

end program
