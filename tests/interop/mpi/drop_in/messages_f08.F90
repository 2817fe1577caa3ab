! Active messages by the module mpix_am_f08, with handlers of Fortran.
module handlers
  use mpi_f08
  use mpix_am_f08
  use, intrinsic :: iso_c_binding
  implicit none

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    integer :: rank
    if (condition) return
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    print *, 'rank', rank, ': not so: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  ! out(i) = abs(in(i)) + abs(window(i))
  subroutine add_absolute(input_addr, input_segment_count, input_datatype, persistent_addr, persistent_count, &
      persistent_datatype, output_addr, output_segment_count, output_datatype, num_segments)
    type(c_ptr), value :: input_addr, persistent_addr, output_addr
    integer :: input_segment_count, persistent_count, output_segment_count, num_segments
    type(MPI_Datatype) :: input_datatype, persistent_datatype, output_datatype
    integer, pointer :: in(:, :), memory(:)
    double precision, pointer :: out(:, :)
    integer :: i, bytes
    call check(input_datatype == MPI_INTEGER .and. persistent_datatype == MPI_INTEGER, 'types of a handler')
    call check(output_datatype == MPI_DOUBLE_PRECISION, 'type of the output of a handler')
    call MPI_Type_size(output_datatype, bytes)
    call check(bytes == 8 .and. persistent_count == input_segment_count, 'counts of a handler')
    call c_f_pointer(input_addr, in, [input_segment_count, num_segments])
    call c_f_pointer(persistent_addr, memory, [persistent_count])
    call c_f_pointer(output_addr, out, [output_segment_count, num_segments])
    do i = 1, num_segments
      out(:, i) = abs(in(:, i)) + abs(memory)
    end do
  end subroutine

  ! The input has a gap after each element, which the type knows.
  subroutine add_absolute_c(input_addr, input_segment_count, input_datatype, persistent_addr, persistent_count, &
      persistent_datatype, output_addr, output_segment_count, output_datatype, num_segments)
    type(c_ptr), value :: input_addr, persistent_addr, output_addr
    integer(MPI_COUNT_KIND) :: input_segment_count, persistent_count, output_segment_count, num_segments
    type(MPI_Datatype) :: input_datatype, persistent_datatype, output_datatype
    integer, pointer :: in(:, :), memory(:)
    double precision, pointer :: out(:, :)
    integer(MPI_ADDRESS_KIND) :: lower, extent
    integer(MPI_COUNT_KIND) :: i
    call MPI_Type_get_extent(input_datatype, lower, extent)
    call check(extent == 8 .and. persistent_datatype == MPI_INTEGER, 'extent of the type of a handler')
    call check(output_datatype == MPI_DOUBLE_PRECISION, 'type of the output of a handler with large counts')
    call c_f_pointer(input_addr, in, [2 * input_segment_count, num_segments])
    call c_f_pointer(persistent_addr, memory, [persistent_count])
    call c_f_pointer(output_addr, out, [output_segment_count, num_segments])
    do i = 1, num_segments
      out(:, i) = abs(in(1::2, i)) + abs(memory)
    end do
  end subroutine

  ! A segment generates as many elements as its input says.
  subroutine repeat_number(input_addr, input_segment_count, input_datatype, persistent_addr, persistent_count, &
      persistent_datatype, output_addr, output_segment_count, output_datatype, num_segments, output_segment_counts)
    type(c_ptr), value :: input_addr, persistent_addr, output_addr
    integer :: input_segment_count, persistent_count, output_segment_count, num_segments
    type(MPI_Datatype) :: input_datatype, persistent_datatype, output_datatype
    integer :: output_segment_counts(*)
    integer, pointer :: in(:), out(:, :)
    integer :: i
    call c_f_pointer(input_addr, in, [num_segments])
    call c_f_pointer(output_addr, out, [output_segment_count, num_segments])
    do i = 1, num_segments
      output_segment_counts(i) = in(i)
      out(1:in(i), i) = in(i)
    end do
  end subroutine

  subroutine repeat_number_c(input_addr, input_segment_count, input_datatype, persistent_addr, persistent_count, &
      persistent_datatype, output_addr, output_segment_count, output_datatype, num_segments, output_segment_counts)
    type(c_ptr), value :: input_addr, persistent_addr, output_addr
    integer(MPI_COUNT_KIND) :: input_segment_count, persistent_count, output_segment_count, num_segments
    type(MPI_Datatype) :: input_datatype, persistent_datatype, output_datatype
    integer(MPI_COUNT_KIND) :: output_segment_counts(*)
    integer, pointer :: in(:), out(:, :)
    integer(MPI_COUNT_KIND) :: i
    call c_f_pointer(input_addr, in, [num_segments])
    call c_f_pointer(output_addr, out, [output_segment_count, num_segments])
    do i = 1, num_segments
      output_segment_counts(i) = in(i)
      out(1:min(in(i), int(output_segment_count)), i) = in(i)
    end do
  end subroutine
end module

program messages
  use handlers
  implicit none
  integer, parameter :: segments = 500, most = 4
  integer(MPI_COUNT_KIND), parameter :: one = 1, five = 5, all_segments = segments, most_c = most
  integer(MPI_ADDRESS_KIND), parameter :: bytes = 8192, nothing = 0
  integer :: rank, size, next, i, error, class
  integer, pointer :: memory(:)
  integer, asynchronous :: in(5, segments), out(most, segments), counts(segments)
  integer(MPI_COUNT_KIND), asynchronous :: counts_c(segments)
  double precision, asynchronous :: sums(5, segments)
  character, asynchronous, target :: buffer(10000)
  type(c_ptr) :: base
  type(MPI_Win) :: win
  type(MPI_Datatype) :: apart
  type(MPIX_Am_op) :: absolute, absolute_c, repeat, repeat_c
  type(MPIX_Am_counters) :: counters

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  call MPIX_Am_op_create(add_absolute, MPI_COMM_WORLD, absolute)
  call MPIX_Am_op_create_c(add_absolute_c, MPI_COMM_WORLD, absolute_c)
  call MPIX_Amv_op_create(repeat_number, MPI_COMM_WORLD, repeat, error)
  call check(error == MPI_SUCCESS, 'an operation')
  call MPIX_Amv_op_create_c(repeat_number_c, MPI_COMM_WORLD, repeat_c)
  call check(absolute /= repeat .and. .not. absolute == MPIX_AM_OP_NULL, 'operations')
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
  call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
  call c_f_pointer(base, memory, [10])
  memory = [(-i * (rank + 1), i = 1, 10)]
  call MPIX_Am_win_buffer_attach(buffer, 10000_MPI_ADDRESS_KIND, win, error)
  call check(error == MPI_SUCCESS, 'a buffer')
  call MPI_Barrier(MPI_COMM_WORLD)
  in = reshape([(i - 1000, i = 1, 5 * segments)], [5, segments])

  call MPI_Win_lock_all(0, win)
  call MPIX_Am(in, 5, MPI_INTEGER, sums, 5, MPI_DOUBLE_PRECISION, segments, next, 5, MPI_INTEGER, &
      int(2, MPI_ADDRESS_KIND), 5, MPI_INTEGER, 5, MPI_DOUBLE_PRECISION, absolute, win)
  call MPI_Win_flush(next, win)
  call check_sums('sums')

  call MPI_Type_create_resized(MPI_INTEGER, nothing, 8_MPI_ADDRESS_KIND, apart)
  call MPI_Type_commit(apart)
  call MPIX_Am(in, five, MPI_INTEGER, sums, five, MPI_DOUBLE_PRECISION, all_segments, next, five, apart, &
      int(2, MPI_ADDRESS_KIND), five, MPI_INTEGER, five, MPI_DOUBLE_PRECISION, absolute_c, win, error)
  call check(error == MPI_SUCCESS, 'a message with large counts')
  call MPI_Type_free(apart)
  call MPI_Win_flush(next, win)
  call check_sums('sums with large counts')

  call send_numbers([(mod(i, most + 1), i = 1, segments)])
  call MPIX_Am_win_get_counters(win, next, counters, error)
  call check(error == MPI_SUCCESS .and. counters%messages == 4 .and. counters%units >= 4, 'counters')
  call check(counters%count_bytes == 8 * segments, 'counters of counts')

  ! Errors
  in(1, 1) = most + 1
  call MPIX_Amv(in, one, MPI_INTEGER, out, most_c, MPI_INTEGER, counts_c, one, next, one, MPI_INTEGER, nothing, one, &
      MPI_INTEGER, most_c, MPI_INTEGER, repeat_c, win)
  call MPI_Win_flush(next, win, error)
  call MPI_Error_class(error, class)
  call check(class == MPIX_Am_error_class(MPIX_AM_COUNT), 'a count that is too large')
  call MPIX_Am(in, -1, MPI_INTEGER, out, 1, MPI_INTEGER, 1, next, 1, MPI_INTEGER, nothing, 1, MPI_INTEGER, 1, &
      MPI_INTEGER, absolute, win, error)
  call MPI_Error_class(error, class)
  call check(class == MPI_ERR_COUNT, 'a negative count')
  call MPIX_Am(in, 1, MPI_INTEGER, out, 1, MPI_INTEGER, 1, next, 1, MPI_INTEGER, nothing, 1, MPI_INTEGER, 1, &
      MPI_INTEGER, repeat, win, error)
  call MPI_Error_class(error, class)
  call check(class == MPI_ERR_OP, 'a vector operation for a plain message')
  call MPIX_Am(MPI_BOTTOM, 0, MPI_INTEGER, MPI_BOTTOM, 0, MPI_INTEGER, 1, MPI_PROC_NULL, 0, MPI_INTEGER, nothing, 1, &
      MPI_INTEGER, 0, MPI_INTEGER, absolute, win, error)
  call check(error == MPI_SUCCESS, 'no process')
  call at_absolute_addresses
  call MPI_Win_unlock_all(win)

  call MPI_Barrier(MPI_COMM_WORLD)
  call MPIX_Am_win_buffer_detach(buffer, win, error)
  call check(error == MPI_SUCCESS, 'the end of a buffer')
  call MPI_Win_free(win)
  call MPIX_Am_op_free(absolute)
  call check(absolute == MPIX_AM_OP_NULL, 'an operation that is freed')
  call MPIX_Am_op_free(absolute_c)
  call MPIX_Am_op_free(repeat)
  call MPIX_Am_op_free(repeat_c, error)
  call check(error == MPI_SUCCESS, 'the end of an operation')
  call MPI_Finalize()

contains

  subroutine check_sums(what)
    character(*), intent(in) :: what
    integer :: j
    do j = 1, segments
      call check(all(nint(sums(:, j)) == abs(in(:, j)) + [3, 4, 5, 6, 7] * (next + 1)), what)
    end do
    sums = 0
  end subroutine

  subroutine send_numbers(numbers)
    integer, intent(in) :: numbers(segments)
    out = -1
    counts = -1
    call MPIX_Amv(numbers, 1, MPI_INTEGER, out, most, MPI_INTEGER, counts, segments, next, 1, MPI_INTEGER, nothing, 1, &
        MPI_INTEGER, most, MPI_INTEGER, repeat, win, error)
    call check(error == MPI_SUCCESS, 'a vector message')
    call MPI_Win_flush(next, win)
    call check_numbers(numbers, int(counts, MPI_COUNT_KIND))
    out = -1
    call MPIX_Amv(numbers, one, MPI_INTEGER, out, most_c, MPI_INTEGER, counts_c, all_segments, next, one, MPI_INTEGER, &
        nothing, one, MPI_INTEGER, most_c, MPI_INTEGER, repeat_c, win, error)
    call check(error == MPI_SUCCESS, 'a vector message with large counts')
    call MPI_Win_flush(next, win)
    call check_numbers(numbers, counts_c)
  end subroutine

  subroutine check_numbers(numbers, found)
    integer, intent(in) :: numbers(segments)
    integer(MPI_COUNT_KIND), intent(in) :: found(segments)
    integer :: j
    do j = 1, segments
      call check(found(j) == numbers(j) .and. all(out(:numbers(j), j) == numbers(j)), 'output of vector messages')
    end do
  end subroutine

  subroutine at_absolute_addresses
    integer(MPI_ADDRESS_KIND) :: places(1)
    type(MPI_Datatype) :: there
    integer, asynchronous :: number(5)
    double precision, asynchronous :: result(5)
    number = -3
    call MPI_Get_address(number, places(1))
    call MPI_Type_create_hindexed(1, [5], places, MPI_INTEGER, there)
    call MPI_Type_commit(there)
    call MPIX_Am(MPI_BOTTOM, 1, there, result, 5, MPI_DOUBLE_PRECISION, 1, next, 5, MPI_INTEGER, &
        int(2, MPI_ADDRESS_KIND), 5, MPI_INTEGER, 5, MPI_DOUBLE_PRECISION, absolute, win)
    call MPI_Type_free(there)
    call MPI_Win_flush(next, win)
    call check(all(nint(result) == 3 + [3, 4, 5, 6, 7] * (next + 1)), 'input at MPI_BOTTOM')
  end subroutine
end program
