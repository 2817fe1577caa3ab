#pragma once

/// Tells when other programs used the processors during a measurement, which makes its figures worthless.

namespace amity::bench {

class machine_load {
 public:
  /// Begins to watch.
  machine_load();

  /// Share of all processors' time since then that neither this process nor its ended children used, in percent; 0
  /// where the system does not tell.
  double others_percent() const;

 private:
  struct reading {
    double wall_s = 0;  ///< summed over the processors
    double busy_s = 0;  ///< of all programs
    double own_s = 0;
  };
  static reading read();

  reading begin_;
};

}  // namespace amity::bench
