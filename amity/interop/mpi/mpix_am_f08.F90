! Active messages on MPI windows, for Fortran 2008: the functions of mpix_am.h with the types of the module mpi_f08.
!
! The files of modules belong to one compiler. So this source is installed, and a program compiles it with its MPI:
!   mpifort -c $(pkg-config --variable=fortran_module amity-mpi-windows-openmpi)
!   mpifort program.f90 mpix_am_f08.o $(pkg-config --libs amity-mpi-windows-openmpi)
!
! What mpix_am.h says holds here. In addition:
! - All counts of a call of MPIX_Am or MPIX_Amv may be of kind MPI_COUNT_KIND. Other integers are default ones.
! - Buffers are contiguous. A section with gaps is an error of the program that is not detected: use derived types.
! - A handler is a subroutine of a module with the interface MPIX_Am_user_function, or one of the others. It converts
!   addresses by c_f_pointer.
! - Buffers of a message are in use until it is complete: give them the attribute ASYNCHRONOUS, or TARGET.
module mpix_am_f08
  use, intrinsic :: iso_c_binding, only: c_associated, c_funloc, c_funptr, c_int, c_int64_t, c_intptr_t, c_loc, &
    c_null_ptr, c_ptr
  use mpi_f08, only: MPI_ADDRESS_KIND, MPI_BOTTOM, MPI_Comm, MPI_COUNT_KIND, MPI_Datatype, MPI_Win
  implicit none
  private

  integer, parameter, public :: MPIX_AM_VERSION = 1

  type, bind(c), public :: MPIX_Am_op
    integer(c_int) :: MPI_VAL
  end type
  type(MPIX_Am_op), parameter, public :: MPIX_AM_OP_NULL = MPIX_Am_op(0)

  ! What messages of this process to a target have needed so far.
  type, bind(c), public :: MPIX_Am_counters
    integer(c_int64_t) :: messages, units, handshakes, queries, refusals, input_bytes, output_bytes, count_bytes
    integer(c_int64_t) :: wait_ns, credit_bytes
  end type
  integer(c_int), parameter :: counters_size = 10

  ! Arguments of MPIX_Am_error_class, which returns an error class.
  integer, parameter, public :: MPIX_AM_BUFFER = 0, MPIX_AM_COUNT = 1, MPIX_AM_DETACHED = 2, MPIX_AM_HINT = 3
  integer, parameter, public :: MPIX_AM_HANDLER = 4

  abstract interface
    subroutine MPIX_Am_user_function(input_addr, input_segment_count, input_datatype, persistent_addr, &
        persistent_count, persistent_datatype, output_addr, output_segment_count, output_datatype, num_segments)
      import :: c_ptr, MPI_Datatype
      type(c_ptr), value :: input_addr, persistent_addr, output_addr
      integer :: input_segment_count, persistent_count, output_segment_count, num_segments
      type(MPI_Datatype) :: input_datatype, persistent_datatype, output_datatype
    end subroutine
    subroutine MPIX_Amv_user_function(input_addr, input_segment_count, input_datatype, persistent_addr, &
        persistent_count, persistent_datatype, output_addr, output_segment_count, output_datatype, num_segments, &
        output_segment_counts)
      import :: c_ptr, MPI_Datatype
      type(c_ptr), value :: input_addr, persistent_addr, output_addr
      integer :: input_segment_count, persistent_count, output_segment_count, num_segments
      type(MPI_Datatype) :: input_datatype, persistent_datatype, output_datatype
      integer :: output_segment_counts(*)
    end subroutine
    subroutine MPIX_Am_user_function_c(input_addr, input_segment_count, input_datatype, persistent_addr, &
        persistent_count, persistent_datatype, output_addr, output_segment_count, output_datatype, num_segments)
      import :: c_ptr, MPI_COUNT_KIND, MPI_Datatype
      type(c_ptr), value :: input_addr, persistent_addr, output_addr
      integer(MPI_COUNT_KIND) :: input_segment_count, persistent_count, output_segment_count, num_segments
      type(MPI_Datatype) :: input_datatype, persistent_datatype, output_datatype
    end subroutine
    subroutine MPIX_Amv_user_function_c(input_addr, input_segment_count, input_datatype, persistent_addr, &
        persistent_count, persistent_datatype, output_addr, output_segment_count, output_datatype, num_segments, &
        output_segment_counts)
      import :: c_ptr, MPI_COUNT_KIND, MPI_Datatype
      type(c_ptr), value :: input_addr, persistent_addr, output_addr
      integer(MPI_COUNT_KIND) :: input_segment_count, persistent_count, output_segment_count, num_segments
      type(MPI_Datatype) :: input_datatype, persistent_datatype, output_datatype
      integer(MPI_COUNT_KIND) :: output_segment_counts(*)
    end subroutine
  end interface
  public :: MPIX_Am_user_function, MPIX_Amv_user_function, MPIX_Am_user_function_c, MPIX_Amv_user_function_c

  interface MPIX_Am
    module procedure am, am_c
  end interface
  interface MPIX_Amv
    module procedure amv, amv_c
  end interface
  interface operator(==)
    module procedure same_op
  end interface
  interface operator(/=)
    module procedure other_op
  end interface
  public :: MPIX_Am, MPIX_Amv, MPIX_Am_op_create, MPIX_Amv_op_create, MPIX_Am_op_create_c, MPIX_Amv_op_create_c
  public :: MPIX_Am_op_free, MPIX_Am_win_buffer_attach, MPIX_Am_win_buffer_detach, MPIX_Am_win_get_counters
  public :: MPIX_Am_error_class, operator(==), operator(/=)

  ! A message, as libamity-mpi takes it.
  type, bind(c) :: message
    type(c_ptr) :: input, output, counts, large_counts
    integer(c_intptr_t) :: persistent_disp
    integer(c_int64_t) :: input_here, output_here, segments, input_there, persistent, output_there
    integer(c_int) :: input_here_type, output_here_type, input_there_type, persistent_type, output_there_type
    integer(c_int) :: target, is_vector
  end type

  interface
    function MPIX_Am_error_class(which) bind(c, name='MPIX_Am_error_class')
      import :: c_int
      integer(c_int), value :: which
      integer(c_int) :: MPIX_Am_error_class
    end function
    function send_f08(given, op, win) bind(c, name='MPIX_Am_f08')
      import :: c_int, message
      type(message), intent(in) :: given
      integer(c_int), value :: op, win
      integer(c_int) :: send_f08
    end function
    function am_op_create_f08(fn, comm, op) bind(c, name='MPIX_Am_op_create_f08')
      import :: c_funptr, c_int, MPIX_Am_op
      type(c_funptr), value :: fn
      integer(c_int), value :: comm
      type(MPIX_Am_op) :: op
      integer(c_int) :: am_op_create_f08
    end function
    function amv_op_create_f08(fn, comm, op) bind(c, name='MPIX_Amv_op_create_f08')
      import :: c_funptr, c_int, MPIX_Am_op
      type(c_funptr), value :: fn
      integer(c_int), value :: comm
      type(MPIX_Am_op) :: op
      integer(c_int) :: amv_op_create_f08
    end function
    function am_op_create_c_f08(fn, comm, op) bind(c, name='MPIX_Am_op_create_c_f08')
      import :: c_funptr, c_int, MPIX_Am_op
      type(c_funptr), value :: fn
      integer(c_int), value :: comm
      type(MPIX_Am_op) :: op
      integer(c_int) :: am_op_create_c_f08
    end function
    function amv_op_create_c_f08(fn, comm, op) bind(c, name='MPIX_Amv_op_create_c_f08')
      import :: c_funptr, c_int, MPIX_Am_op
      type(c_funptr), value :: fn
      integer(c_int), value :: comm
      type(MPIX_Am_op) :: op
      integer(c_int) :: amv_op_create_c_f08
    end function
    function op_free(op) bind(c, name='MPIX_Am_op_free')
      import :: c_int, MPIX_Am_op
      type(MPIX_Am_op) :: op
      integer(c_int) :: op_free
    end function
    function buffer_attach_f08(buffer, size, win) bind(c, name='MPIX_Am_win_buffer_attach_f08')
      import :: c_int, c_intptr_t, c_ptr
      type(c_ptr), value :: buffer
      integer(c_intptr_t), value :: size
      integer(c_int), value :: win
      integer(c_int) :: buffer_attach_f08
    end function
    function buffer_detach_f08(buffer, win) bind(c, name='MPIX_Am_win_buffer_detach_f08')
      import :: c_int, c_ptr
      type(c_ptr), value :: buffer
      integer(c_int), value :: win
      integer(c_int) :: buffer_detach_f08
    end function
    function get_counters_f08(win, target_rank, counters, size) bind(c, name='MPIX_Am_win_get_counters_f08')
      import :: c_int, MPIX_Am_counters
      integer(c_int), value :: win, target_rank, size
      type(MPIX_Am_counters) :: counters
      integer(c_int) :: get_counters_f08
    end function
  end interface

contains

  pure logical function same_op(a, b)
    type(MPIX_Am_op), intent(in) :: a, b
    same_op = a%MPI_VAL == b%MPI_VAL
  end function

  pure logical function other_op(a, b)
    type(MPIX_Am_op), intent(in) :: a, b
    other_op = a%MPI_VAL /= b%MPI_VAL
  end function

  ! The address of a buffer. That of MPI_BOTTOM is 0.
  type(c_ptr) function address_of(buffer)
    type(*), dimension(..), intent(in), target :: buffer
    address_of = plain_address_of(buffer)
    if (c_associated(address_of, plain_address_of(MPI_BOTTOM))) address_of = c_null_ptr
  end function

  type(c_ptr) function plain_address_of(buffer)
    type(*), dimension(..), intent(in), target :: buffer
    plain_address_of = c_loc(buffer)
  end function

  subroutine set(ierror, code)
    integer, optional, intent(out) :: ierror
    integer(c_int), intent(in) :: code
    if (present(ierror)) ierror = code
  end subroutine

  subroutine MPIX_Am_op_create(fn, comm, op, ierror)
    procedure(MPIX_Am_user_function) :: fn
    type(MPI_Comm), intent(in) :: comm
    type(MPIX_Am_op), intent(out) :: op
    integer, optional, intent(out) :: ierror
    op = MPIX_AM_OP_NULL
    call set(ierror, am_op_create_f08(c_funloc(fn), comm%MPI_VAL, op))
  end subroutine

  subroutine MPIX_Amv_op_create(fn, comm, op, ierror)
    procedure(MPIX_Amv_user_function) :: fn
    type(MPI_Comm), intent(in) :: comm
    type(MPIX_Am_op), intent(out) :: op
    integer, optional, intent(out) :: ierror
    op = MPIX_AM_OP_NULL
    call set(ierror, amv_op_create_f08(c_funloc(fn), comm%MPI_VAL, op))
  end subroutine

  subroutine MPIX_Am_op_create_c(fn, comm, op, ierror)
    procedure(MPIX_Am_user_function_c) :: fn
    type(MPI_Comm), intent(in) :: comm
    type(MPIX_Am_op), intent(out) :: op
    integer, optional, intent(out) :: ierror
    op = MPIX_AM_OP_NULL
    call set(ierror, am_op_create_c_f08(c_funloc(fn), comm%MPI_VAL, op))
  end subroutine

  subroutine MPIX_Amv_op_create_c(fn, comm, op, ierror)
    procedure(MPIX_Amv_user_function_c) :: fn
    type(MPI_Comm), intent(in) :: comm
    type(MPIX_Am_op), intent(out) :: op
    integer, optional, intent(out) :: ierror
    op = MPIX_AM_OP_NULL
    call set(ierror, amv_op_create_c_f08(c_funloc(fn), comm%MPI_VAL, op))
  end subroutine

  subroutine MPIX_Am_op_free(op, ierror)
    type(MPIX_Am_op), intent(inout) :: op
    integer, optional, intent(out) :: ierror
    call set(ierror, op_free(op))
  end subroutine

  subroutine MPIX_Am_win_buffer_attach(buffer, size, win, ierror)
    type(*), dimension(..), asynchronous :: buffer
    integer(MPI_ADDRESS_KIND), intent(in) :: size
    type(MPI_Win), intent(in) :: win
    integer, optional, intent(out) :: ierror
    call set(ierror, buffer_attach_f08(address_of(buffer), size, win%MPI_VAL))
  end subroutine

  subroutine MPIX_Am_win_buffer_detach(buffer, win, ierror)
    type(*), dimension(..), asynchronous :: buffer
    type(MPI_Win), intent(in) :: win
    integer, optional, intent(out) :: ierror
    call set(ierror, buffer_detach_f08(address_of(buffer), win%MPI_VAL))
  end subroutine

  subroutine MPIX_Am_win_get_counters(win, target_rank, counters, ierror)
    type(MPI_Win), intent(in) :: win
    integer, intent(in) :: target_rank
    type(MPIX_Am_counters), intent(out) :: counters
    integer, optional, intent(out) :: ierror
    call set(ierror, get_counters_f08(win%MPI_VAL, target_rank, counters, counters_size))
  end subroutine

  subroutine am(origin_input_addr, origin_input_segment_count, origin_input_datatype, origin_output_addr, &
      origin_output_segment_count, origin_output_datatype, num_segments, target_rank, &
      target_input_segment_count, target_input_datatype, target_persistent_disp, target_persistent_count, &
      target_persistent_datatype, target_output_segment_count, target_output_datatype, op, win, ierror)
    type(*), dimension(..), intent(in), asynchronous :: origin_input_addr
    type(*), dimension(..), asynchronous :: origin_output_addr
    integer, intent(in) :: origin_input_segment_count, origin_output_segment_count, num_segments
    integer, intent(in) :: target_input_segment_count, target_persistent_count, target_output_segment_count
    type(MPI_Datatype), intent(in) :: origin_input_datatype, origin_output_datatype, target_input_datatype
    type(MPI_Datatype), intent(in) :: target_persistent_datatype, target_output_datatype
    integer, intent(in) :: target_rank
    integer(MPI_ADDRESS_KIND), intent(in) :: target_persistent_disp
    type(MPIX_Am_op), intent(in) :: op
    type(MPI_Win), intent(in) :: win
    integer, optional, intent(out) :: ierror
    call set(ierror, send_f08(message(address_of(origin_input_addr), address_of(origin_output_addr), &
        c_null_ptr, c_null_ptr, target_persistent_disp, &
        int(origin_input_segment_count, c_int64_t), int(origin_output_segment_count, c_int64_t), &
        int(num_segments, c_int64_t), int(target_input_segment_count, c_int64_t), &
        int(target_persistent_count, c_int64_t), int(target_output_segment_count, c_int64_t), &
        origin_input_datatype%MPI_VAL, origin_output_datatype%MPI_VAL, target_input_datatype%MPI_VAL, &
        target_persistent_datatype%MPI_VAL, target_output_datatype%MPI_VAL, target_rank, 0), &
        op%MPI_VAL, win%MPI_VAL))
  end subroutine

  subroutine am_c(origin_input_addr, origin_input_segment_count, origin_input_datatype, origin_output_addr, &
      origin_output_segment_count, origin_output_datatype, num_segments, target_rank, &
      target_input_segment_count, target_input_datatype, target_persistent_disp, target_persistent_count, &
      target_persistent_datatype, target_output_segment_count, target_output_datatype, op, win, ierror)
    type(*), dimension(..), intent(in), asynchronous :: origin_input_addr
    type(*), dimension(..), asynchronous :: origin_output_addr
    integer(MPI_COUNT_KIND), intent(in) :: origin_input_segment_count, origin_output_segment_count, num_segments
    integer(MPI_COUNT_KIND), intent(in) :: target_input_segment_count, target_persistent_count
    integer(MPI_COUNT_KIND), intent(in) :: target_output_segment_count
    type(MPI_Datatype), intent(in) :: origin_input_datatype, origin_output_datatype, target_input_datatype
    type(MPI_Datatype), intent(in) :: target_persistent_datatype, target_output_datatype
    integer, intent(in) :: target_rank
    integer(MPI_ADDRESS_KIND), intent(in) :: target_persistent_disp
    type(MPIX_Am_op), intent(in) :: op
    type(MPI_Win), intent(in) :: win
    integer, optional, intent(out) :: ierror
    call set(ierror, send_f08(message(address_of(origin_input_addr), address_of(origin_output_addr), &
        c_null_ptr, c_null_ptr, target_persistent_disp, &
        origin_input_segment_count, origin_output_segment_count, &
        num_segments, target_input_segment_count, &
        target_persistent_count, target_output_segment_count, &
        origin_input_datatype%MPI_VAL, origin_output_datatype%MPI_VAL, target_input_datatype%MPI_VAL, &
        target_persistent_datatype%MPI_VAL, target_output_datatype%MPI_VAL, target_rank, 0), &
        op%MPI_VAL, win%MPI_VAL))
  end subroutine

  subroutine amv(origin_input_addr, origin_input_segment_count, origin_input_datatype, origin_output_addr, &
      origin_output_segment_count, origin_output_datatype, output_segment_counts, num_segments, target_rank, &
      target_input_segment_count, target_input_datatype, target_persistent_disp, target_persistent_count, &
      target_persistent_datatype, target_output_segment_count, target_output_datatype, op, win, ierror)
    type(*), dimension(..), intent(in), asynchronous :: origin_input_addr
    type(*), dimension(..), asynchronous :: origin_output_addr
    integer, intent(in) :: origin_input_segment_count, origin_output_segment_count, num_segments
    integer, intent(in) :: target_input_segment_count, target_persistent_count, target_output_segment_count
    integer, asynchronous, target :: output_segment_counts(*)
    type(MPI_Datatype), intent(in) :: origin_input_datatype, origin_output_datatype, target_input_datatype
    type(MPI_Datatype), intent(in) :: target_persistent_datatype, target_output_datatype
    integer, intent(in) :: target_rank
    integer(MPI_ADDRESS_KIND), intent(in) :: target_persistent_disp
    type(MPIX_Am_op), intent(in) :: op
    type(MPI_Win), intent(in) :: win
    integer, optional, intent(out) :: ierror
    call set(ierror, send_f08(message(address_of(origin_input_addr), address_of(origin_output_addr), &
        c_loc(output_segment_counts), c_null_ptr, target_persistent_disp, &
        int(origin_input_segment_count, c_int64_t), int(origin_output_segment_count, c_int64_t), &
        int(num_segments, c_int64_t), int(target_input_segment_count, c_int64_t), &
        int(target_persistent_count, c_int64_t), int(target_output_segment_count, c_int64_t), &
        origin_input_datatype%MPI_VAL, origin_output_datatype%MPI_VAL, target_input_datatype%MPI_VAL, &
        target_persistent_datatype%MPI_VAL, target_output_datatype%MPI_VAL, target_rank, 1), &
        op%MPI_VAL, win%MPI_VAL))
  end subroutine

  subroutine amv_c(origin_input_addr, origin_input_segment_count, origin_input_datatype, origin_output_addr, &
      origin_output_segment_count, origin_output_datatype, output_segment_counts, num_segments, target_rank, &
      target_input_segment_count, target_input_datatype, target_persistent_disp, target_persistent_count, &
      target_persistent_datatype, target_output_segment_count, target_output_datatype, op, win, ierror)
    type(*), dimension(..), intent(in), asynchronous :: origin_input_addr
    type(*), dimension(..), asynchronous :: origin_output_addr
    integer(MPI_COUNT_KIND), intent(in) :: origin_input_segment_count, origin_output_segment_count, num_segments
    integer(MPI_COUNT_KIND), intent(in) :: target_input_segment_count, target_persistent_count
    integer(MPI_COUNT_KIND), intent(in) :: target_output_segment_count
    integer(MPI_COUNT_KIND), asynchronous, target :: output_segment_counts(*)
    type(MPI_Datatype), intent(in) :: origin_input_datatype, origin_output_datatype, target_input_datatype
    type(MPI_Datatype), intent(in) :: target_persistent_datatype, target_output_datatype
    integer, intent(in) :: target_rank
    integer(MPI_ADDRESS_KIND), intent(in) :: target_persistent_disp
    type(MPIX_Am_op), intent(in) :: op
    type(MPI_Win), intent(in) :: win
    integer, optional, intent(out) :: ierror
    call set(ierror, send_f08(message(address_of(origin_input_addr), address_of(origin_output_addr), &
        c_null_ptr, c_loc(output_segment_counts), target_persistent_disp, &
        origin_input_segment_count, origin_output_segment_count, &
        num_segments, target_input_segment_count, &
        target_persistent_count, target_output_segment_count, &
        origin_input_datatype%MPI_VAL, origin_output_datatype%MPI_VAL, target_input_datatype%MPI_VAL, &
        target_persistent_datatype%MPI_VAL, target_output_datatype%MPI_VAL, target_rank, 1), &
        op%MPI_VAL, win%MPI_VAL))
  end subroutine
end module
