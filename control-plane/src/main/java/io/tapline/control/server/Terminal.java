package io.tapline.control.server;

import io.tapline.control.ProgressListener;

/**
 * The terminal from which a pipeline or a server was started: receives its output and progress, and
 * delivers the signals that end it.
 */
public interface Terminal {
  /** Returns the receiver of progress. */
  ProgressListener progress();

  /** Prints a line of output and flushes it. */
  void announce(String line);

  /** Prints a line separate from the output. */
  void hint(String message);

  /** Returns true if the process ends when the pipeline does. */
  boolean endsProcess();

  /** Runs an action on the first termination signal; the next one ends the process immediately. */
  void onStop(Runnable stop);

  /** Runs an action on the first termination signal, and then ends the process. */
  void beforeExit(Runnable close);
}
