#pragma once

/// `amity graph`: breadth-first search and shortest paths on a graph of the user's, or on the dependencies of the
/// distribution's packages.

namespace amity::apps::graph {

/// Runs the command and gives the exit status of the process: 0 if all is well, 1 for input that cannot be used and for
/// a wrong answer, 2 for a wrong command line. Every mistake has been explained on standard error.
///
/// `argv[0]` is the word for which the program has called this, followed by the user's arguments. With -n the program
/// is started again as `program argv[0] arguments...`, once for each rank.
int command(int argc, char** argv);

}  // namespace amity::apps::graph
