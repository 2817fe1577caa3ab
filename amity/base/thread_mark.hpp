#pragma once

/// A name for the thread that runs.

namespace amity {

/// Its address tells threads apart, and asking for it is no call. One a thread, also where a program hides its symbols.
[[gnu::visibility("default"), gnu::tls_model("initial-exec")]] inline thread_local constinit const char thread_mark = 0;

}  // namespace amity
