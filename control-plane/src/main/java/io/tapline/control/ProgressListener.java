package io.tapline.control;

/** Hears what a person waiting would like to know. Called from any thread. */
public interface ProgressListener {
  /** Ignores everything. */
  ProgressListener SILENT =
      new ProgressListener() {
        @Override
        public void progress(String stage, double fraction, long packets, long bytes) {}

        @Override
        public void warning(String message) {}
      };

  /**
   * How far it is.
   *
   * @param stage what is being done, for example "reading the capture"
   * @param fraction done, 0 to 1; NaN where the end is not known
   * @param packets seen so far
   * @param bytes seen so far, on the wire
   */
  void progress(String stage, double fraction, long packets, long bytes);

  /** Something that does not stop the work but may change what it means. */
  void warning(String message);

  /** Begins a phase of the work; phases may overlap. */
  default Phase phase(String name) {
    return () -> {};
  }

  /** A phase, which lasts until it is closed. */
  interface Phase extends AutoCloseable {
    @Override
    void close();
  }
}
