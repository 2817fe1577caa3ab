#include "amity/interop/mpi/drop_in/error_codes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/calls.hpp"

namespace amity::mpi {

int error_codes::find(int error_class, std::string_view text) {
  const std::lock_guard lock(mutex_);
  codes_of_class& codes = classes_[error_class];
  const auto same = std::ranges::find(codes.all, text, &known_code::text);
  if (same != codes.all.end()) return same->code;
  if (codes.all.size() < kept_max) {
    int code = error_class;
    if (native::add_error_code(error_class, &code) != MPI_SUCCESS) return error_class;
    codes.all.push_back({.code = code, .text = {}});
  }
  known_code& taken = codes.all[std::exchange(codes.oldest, (codes.oldest + 1) % kept_max)];
  taken.text = text;
  return taken.code;
}

std::optional<std::string> error_codes::text_of(int code) {
  const std::lock_guard lock(mutex_);
  for (const auto& [error_class, codes] : classes_) {
    const auto found = std::ranges::find(codes.all, code, &known_code::code);
    if (found != codes.all.end()) return found->text;
  }
  return std::nullopt;
}

}  // namespace amity::mpi

using namespace amity::mpi;

extern "C" {

int PMPI_Error_string(int errorcode, char* string, int* resultlen) {
  drop_in* const own = drop_in::running();
  const std::optional<std::string> text = own == nullptr ? std::nullopt : own->errors().text_of(errorcode);
  if (!text || string == nullptr || resultlen == nullptr) return native::error_string(errorcode, string, resultlen);
  const std::size_t length = std::min<std::size_t>(text->size(), MPI_MAX_ERROR_STRING - 1);
  std::memcpy(string, text->data(), length);
  string[length] = '\0';
  *resultlen = static_cast<int>(length);
  return MPI_SUCCESS;
}

}  // extern "C"

AMITY_MPI_EXPORT(Error_string)
