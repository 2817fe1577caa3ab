#pragma once

/// All that a program needs: `amity::run`, `amity::world`, message types with their policies, codecs and errors.

#include "amity/base/error.hpp"
#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"
#include "amity/message/coalesce.hpp"
#include "amity/message/codec.hpp"
#include "amity/message/message.hpp"
#include "amity/message/remote_call.hpp"
#include "amity/window/dynamic_window.hpp"
#include "amity/window/window.hpp"
#include "amity/world/run.hpp"
#include "amity/world/thread.hpp"
#include "amity/world/world.hpp"
