#pragma once

/// A name for the thread that runs.

namespace amity {

/// Its address tells threads apart. Each thread has one, also where a program hides its symbols. The TLS model takes
/// the address without a call in position-independent code.
[[gnu::visibility("default"), gnu::tls_model("initial-exec")]] inline thread_local constinit const char thread_mark = 0;

}  // namespace amity
