! A program of coarrays, which the compiler's library carries out by windows: puts, gets, a lock, events, an atomic
! counter and reductions.
program coarrays
  use, intrinsic :: iso_fortran_env, only: atomic_int_kind, lock_type, event_type
  implicit none
  integer, parameter :: rounds = 30
  integer :: cells(8)[*], counter[*], sum, i, next, previous
  integer(atomic_int_kind) :: ticket[*], tickets
  type(lock_type) :: lock[*]
  type(event_type) :: filled[*]
  integer, allocatable :: grown(:)[:]

  next = merge(1, this_image() + 1, this_image() == num_images())
  previous = merge(num_images(), this_image() - 1, this_image() == 1)
  cells = this_image()
  counter = 0
  ticket = 0
  sync all

  cells(2)[next] = 10 * this_image()
  cells(4:8:2)[next] = [1, 2, 3] * this_image()
  sync all
  call check(cells(2) == 10 * previous, 'a put')
  call check(all(cells(4:8:2) == [1, 2, 3] * previous), 'a put of a section')
  call check(all(cells(3:7:2) == this_image()), 'cells between those of the section')
  call check(cells(2)[next] == 10 * this_image(), 'a get')
  call check(all(cells(8:4:-2)[next] == [3, 2, 1] * this_image()), 'a get of a section')
  sync all

  do i = 1, rounds
    lock (lock[1])
    counter[1] = counter[1] + 1
    unlock (lock[1])
    call atomic_add(ticket[1], 1)
  end do
  sync all
  call check(counter[1] == rounds * num_images(), 'a counter with a lock')
  call atomic_ref(tickets, ticket[1])
  call check(tickets == rounds * num_images(), 'a counter of atomics')

  do i = 1, rounds
    cells(1)[next] = 100 * i + this_image()
    event post (filled[next])
    event wait (filled)
    call check(cells(1) == 100 * i + previous, 'a put before an event')
    sync all
  end do

  do i = 1, 5
    allocate (grown(100 * i)[*])
    grown = this_image()
    sync all
    call check(all(grown(:)[next] == next), 'an allocatable coarray')
    deallocate (grown)
  end do

  sum = this_image()
  call co_sum(sum)
  call check(sum == num_images() * (num_images() + 1) / 2, 'a sum of all images')
  sync all
  if (this_image() == 1) print '(a)', 'coarrays: all right'

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print *, 'image', this_image(), ': not so: ', what
    error stop 1
  end subroutine

end program
