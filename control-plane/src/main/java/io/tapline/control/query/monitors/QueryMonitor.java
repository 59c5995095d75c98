package io.tapline.control.query.monitors;

import io.tapline.control.registry.TriggerSet;
import io.tapline.schema.rpc.MonitorStatus;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** The monitor, or monitors, that capture packets for one query. Thread-safe. */
public interface QueryMonitor {
  /**
   * Completes when capturing has ended: normally if every tuple has been sent, else with a {@link
   * io.tapline.control.PipelineException}.
   */
  CompletableFuture<Void> end();

  /**
   * Sets the share of a {@code SAMPLE auto} query's flows that the rest of the pipeline can
   * process. A monitor that reads files ignores it, since Kafka already paces it. Called about once
   * a second while the share is below 1.
   *
   * @return the share that the monitors apply now, which may be lower for a while
   */
  default double limit(double rate) {
    return rate;
  }

  /**
   * Returns the action to run once switches mirror what the current parts need: it informs their
   * monitors that all their packets now arrive. Does nothing if no switch mirrors.
   */
  default Runnable onMirrored() {
    return () -> {};
  }

  /**
   * Replaces the running query's packet triggers. A monitor that reads files ignores the call.
   *
   * @param responses called on the registry's thread when a version takes effect or is refused
   */
  default void triggers(TriggerSet set, Consumer<MonitorStatus.Triggers> responses) {}

  /** Asks the monitor to flush and end; {@link #end} completes when it has. Idempotent. */
  void stop();

  /**
   * Ends the monitor immediately, even if that loses data, and returns when it has ended. Does
   * nothing if it has already ended; never affects other queries.
   */
  void kill();

  /** Returns true if {@link #kill} ended the monitor, or {@link #stop} while it was starting. */
  boolean killed();
}
