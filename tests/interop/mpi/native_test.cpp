/// The functions of the MPI are found, not those that the program has of the same names.

#include "amity/interop/mpi/drop_in/native.hpp"

#include <dlfcn.h>

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <mpi.h>

#include "amity/interop/mpi/drop_in/mpi_error.hpp"

// As in the library: both names are its own.
extern "C" int MPI_Type_get_name(MPI_Datatype, char*, int*) { return -1; }
extern "C" int PMPI_Type_get_name(MPI_Datatype, char*, int*) { return -1; }
extern "C" int MPI_Of_program_alone(int) { return -1; }

namespace amity::mpi {
namespace {

TEST(native_functions, found_behind_functions_of_program) {
  native_function<decltype(&MPI_Type_get_name)> get_name("Type_get_name");
  for (int call = 0; call < 2; ++call) {
    std::string name(MPI_MAX_OBJECT_NAME, '\0');
    int length = 0;
    ASSERT_EQ(get_name(MPI_INT, name.data(), &length), MPI_SUCCESS);
    EXPECT_EQ(name.substr(0, static_cast<std::size_t>(length)), "MPI_INT");
  }
  EXPECT_EQ(MPI_Type_get_name(MPI_INT, nullptr, nullptr), -1);
}

TEST(native_functions, not_of_program_alone) {
  EXPECT_NE(::dlsym(RTLD_DEFAULT, "MPI_Of_program_alone"), nullptr);
  native_function<decltype(&MPI_Of_program_alone)> of_program("Of_program_alone");
  EXPECT_FALSE(static_cast<bool>(of_program));
}

TEST(native_functions, missing_one_named) {
  native_function<int (*)(int)> missing("Missing_function");
  EXPECT_FALSE(static_cast<bool>(missing));
  EXPECT_TRUE(static_cast<bool>(native::type_free));
  try {
    missing(1);
    FAIL() << "no error";
  } catch (const mpi_error& error) {
    EXPECT_EQ(error.error_class(), MPI_ERR_OTHER);
    EXPECT_EQ(std::string_view(error.what())
                  .find("no MPI that this process has loaded has a function MPI_Missing_function; "),
              0u);
  }
}

}  // namespace
}  // namespace amity::mpi
