package io.tapline.control;

/** Receives progress reports for a waiting user. Implementations must be thread-safe. */
public interface ProgressListener {
  /** A listener that ignores everything. */
  ProgressListener SILENT =
      new ProgressListener() {
        @Override
        public void progress(String stage, double fraction, long packets, long bytes) {}

        @Override
        public void warning(String message) {}
      };

  /**
   * Reports progress.
   *
   * @param stage current stage, for example "reading the capture"
   * @param fraction completed share, 0 to 1; NaN if the end is not known
   * @param packets packets seen so far
   * @param bytes bytes seen so far, on the wire
   */
  void progress(String stage, double fraction, long packets, long bytes);

  /** Reports a problem that does not stop the work but may affect its result. */
  void warning(String message);

  /** Begins a phase of the work; phases may overlap. */
  default Phase phase(String name) {
    return () -> {};
  }

  /** A phase of the work, which lasts until it is closed. */
  interface Phase extends AutoCloseable {
    @Override
    void close();
  }
}
