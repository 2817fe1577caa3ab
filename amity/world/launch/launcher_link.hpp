#pragma once

/// What an OpenSHMEM program reports to amity's launcher. If another launcher has started it, nothing is reported.

#include <memory>

#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"

namespace amity::fabric::shm {
class job_memory;
}

namespace amity::detail {

class launcher_link : private immovable {
 public:
  /// From now on messages of the launcher name calls of OpenSHMEM. Throws `error` if the launcher's memory is not
  /// there.
  explicit launcher_link(const settings& config);
  ~launcher_link();

  /// The job has succeeded: the launcher ends the processes that still run when the next one has ended.
  void succeed() noexcept;

 private:
  std::unique_ptr<fabric::shm::job_memory> memory_;  ///< null: another launcher
};

}  // namespace amity::detail
