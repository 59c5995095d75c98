package io.tapline.control.query;

import java.util.concurrent.CompletableFuture;

/** What watches packets for one query. Thread-safe. */
interface QueryMonitor {
  /**
   * Completes when it watches no more: normally if all that it has seen is out, else with a {@link
   * io.tapline.control.PipelineException}.
   */
  CompletableFuture<Void> end();

  /**
   * Says which share of the flows of a {@code SAMPLE auto} query the rest of the pipeline can take.
   * One that reads files goes no faster than Kafka takes them, and does not mind. Called about once
   * a second while not all can be taken.
   *
   * @return the share that is kept from now on, which may be lower for a while
   */
  default double limit(double rate) {
    return rate;
  }

  /**
   * What is to be done once switches copy what those parts want that watch now: their monitors
   * learn that they see all of it. Nothing where no switch copies.
   */
  default Runnable onMirrored() {
    return () -> {};
  }

  /** Asks it to flush and end; {@link #end} says when it has. Repeats change nothing. */
  void stop();

  /**
   * Ends it for good, whatever that loses; returns when it has ended. Nothing happens to one that
   * has ended, and to other queries never.
   */
  void kill();

  /** Whether {@link #kill} ended it. */
  boolean killed();
}
