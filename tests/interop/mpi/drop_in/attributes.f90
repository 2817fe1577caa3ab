! The attributes of a window that the MPI defines, read by Fortran.
program attributes
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(MPI_Win) :: win
  type(c_ptr) :: memory
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  integer :: key, copied

  call MPI_Init()
  bytes = 48 + 0 * MPI_ADDRESS_KIND
  call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win)
  call check(MPI_WIN_BASE, transfer(memory, bytes))
  call check(MPI_WIN_SIZE, bytes)
  call check(MPI_WIN_DISP_UNIT, int(8, MPI_ADDRESS_KIND))
  call check(MPI_WIN_CREATE_FLAVOR, int(MPI_WIN_FLAVOR_ALLOCATE, MPI_ADDRESS_KIND))
  call check(MPI_WIN_MODEL, int(MPI_WIN_UNIFIED, MPI_ADDRESS_KIND))

  ! Attributes of the program are left as they are.
  call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, key, int(0, MPI_ADDRESS_KIND))
  call check_absent(key)
  call MPI_Win_set_attr(win, key, int(17, MPI_ADDRESS_KIND))
  call check(key, int(17, MPI_ADDRESS_KIND))
  call MPI_Win_delete_attr(win, key)
  call check_absent(key)
  ! They end with the window, also if a new one has the same handle.
  call MPI_Win_set_attr(win, key, int(18, MPI_ADDRESS_KIND))
  call MPI_Win_free(win)
  call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win)
  call check_absent(key)
  call MPI_Win_free_keyval(key)
  call MPI_Win_free(win)
  call MPI_Finalize()

contains

  subroutine check(key, expected)
    integer, intent(in) :: key
    integer(kind=MPI_ADDRESS_KIND), intent(in) :: expected
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Win_get_attr(win, key, value, flag)
    if (.not. flag .or. value /= expected) then
      print *, 'attribute', key, 'is', flag, value, 'and not', expected
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
    call check_old(win%MPI_VAL, key, expected)
  end subroutine

  subroutine check_absent(key)
    integer, intent(in) :: key
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Win_get_attr(win, key, value, flag)
    if (flag) then
      print *, 'attribute', key, 'exists, with', value
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
  end subroutine

end program

! The same by the interface of mpif.h.
subroutine check_old(win, key, expected)
  implicit none
  include 'mpif.h'
  integer, intent(in) :: win, key
  integer(kind=MPI_ADDRESS_KIND), intent(in) :: expected
  integer(kind=MPI_ADDRESS_KIND) :: value
  integer :: error
  logical :: flag
  call MPI_WIN_GET_ATTR(win, key, value, flag, error)
  if (error /= MPI_SUCCESS .or. .not. flag .or. value /= expected) then
    print *, 'mpif.h: attribute', key, 'is', flag, value, 'and not', expected
    call MPI_ABORT(MPI_COMM_WORLD, 1, error)
  end if
end subroutine
