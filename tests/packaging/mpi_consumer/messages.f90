! The program of messages.c in Fortran.
module number_handler
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
contains
  subroutine read_number(input_addr, input_segment_count, input_datatype, persistent_addr, persistent_count, &
      persistent_datatype, output_addr, output_segment_count, output_datatype, num_segments)
    type(c_ptr), value :: input_addr, persistent_addr, output_addr
    integer :: input_segment_count, persistent_count, output_segment_count, num_segments
    type(MPI_Datatype) :: input_datatype, persistent_datatype, output_datatype
    integer, pointer :: memory, numbers(:)
    call c_f_pointer(persistent_addr, memory)
    call c_f_pointer(output_addr, numbers, [num_segments])
    numbers = memory
  end subroutine
end module

program messages
  use mpi_f08
  use mpix_am_f08
  use number_handler
  implicit none
  integer(MPI_ADDRESS_KIND), parameter :: bytes = 8, nothing = 0
  integer, asynchronous :: number
  integer :: rank, size, next, wanted
  integer, pointer :: memory
  character(10) :: argument
  type(c_ptr) :: base
  type(MPI_Win) :: win
  type(MPIX_Am_op) :: op
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  call MPIX_Am_op_create(read_number, MPI_COMM_WORLD, op)
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
  call c_f_pointer(base, memory)
  memory = 10 + rank
  call MPI_Win_fence(0, win)
  call MPIX_Am(number, 0, MPI_INTEGER, number, 1, MPI_INTEGER, 1, next, 0, MPI_INTEGER, nothing, 1, MPI_INTEGER, 1, &
      MPI_INTEGER, op, win)
  call MPI_Win_fence(0, win)
  call MPI_Win_free(win)
  call MPIX_Am_op_free(op)
  call get_command_argument(1, argument)
  read (argument, *) wanted
  call MPI_Finalize()
  if (number /= 10 + next .or. size /= wanted) error stop 'wrong'
end program
