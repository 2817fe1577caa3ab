# The headers that users get. Everything that a public header includes is public; tools, applications and benchmarks
# include nothing else of the library. scripts/check holds both to be true.
set(AMITY_PUBLIC_HEADERS
  base/assert.hpp
  base/clock.hpp
  base/error.hpp
  base/log.hpp
  base/random.hpp
  base/settings.hpp
  base/status.hpp
  base/types.hpp
  fabric/fabric.hpp
  world/fabrics.hpp
  world/launch.hpp
)
