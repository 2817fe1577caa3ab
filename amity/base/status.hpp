#pragma once

/// Normal outcomes of calls that may not be possible right now.
///
/// A `status` is an answer, not an error: the caller decides whether to retry, to make progress first, or to stop.
/// Mistakes of the user are reported as `amity::error`; bugs of amity are caught by `AMITY_ASSERT`.

namespace amity {

enum class [[nodiscard]] status{
    ok,      ///< Done.
    again,   ///< Not now: no credit or no space. The caller retries after making progress; nothing was changed.
    closed,  ///< The job is ending; no further operation is possible.
};

}  // namespace amity
