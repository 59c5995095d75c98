package io.tapline.control.query.sampling;

import java.util.function.DoubleUnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks once a second how well the job of a {@code SAMPLE auto} query keeps up with its topic, and
 * sends the query's monitor the share of flows that the {@link SamplingController} has chosen.
 *
 * <p>A job reports its progress about once a second, but at irregular times; everything between two
 * reports counts as one period. A failed read changes nothing: the next one may succeed.
 */
public final class SamplingWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SamplingWatch.class);

  /** Lag that is tolerated; the controller aims at half of it. */
  public static final double TARGET_LAG_SECONDS = 10;

  static final double MIN_RATE = 1.0 / 1024;
  private static final long PERIOD_MS = 1_000;

  /** Time after which a job that has not reported is assumed to read nothing. */
  private static final double STALL_SECONDS = 3;

  private static final double NEW_SHARE = 0.4;

  private final Gauge gauge;
  private final DoubleUnaryOperator limit;
  private final SamplingController controller;
  private final TopicHistory history;
  private final Thread thread;
  private State last;
  private double sinceNews;
  private double allFlows;
  private double inForce;
  private boolean hasReported;

  /**
   * A query's progress.
   *
   * @param written records written to its topic since the beginning
   * @param read records that its job has read
   * @param tuples tuples in the records read
   */
  public record State(long written, long read, long tuples) {}

  /** Source of the measurements. */
  public interface Gauge {
    State look() throws Exception;
  }

  /**
   * Creates a watch; {@link #start} begins the checks.
   *
   * @param maxRate highest rate that the query allows
   * @param limit receives the rate at least once, and repeatedly while it is below {@code maxRate};
   *     returns the rate that monitors apply, which may be lower for a while
   */
  public SamplingWatch(String query, double maxRate, Gauge gauge, DoubleUnaryOperator limit) {
    this.gauge = gauge;
    this.limit = limit;
    this.controller = new SamplingController(MIN_RATE, maxRate, TARGET_LAG_SECONDS);
    this.history = new TopicHistory(maxRate);
    this.inForce = maxRate;
    this.thread = new Thread(this::run, "sampling-" + query);
    thread.setDaemon(true);
  }

  /** Starts watching. */
  public SamplingWatch start() {
    thread.start();
    return this;
  }

  private void run() {
    long then = System.nanoTime();
    while (!Thread.currentThread().isInterrupted()) {
      try {
        Thread.sleep(PERIOD_MS);
        State state = gauge.look();
        long now = System.nanoTime();
        take(state, (now - then) / 1e9);
        then = now;
      } catch (InterruptedException e) {
        return;
      } catch (Exception e) {
        LOG.debug("can't determine a query's progress: {}", e.toString());
      }
    }
  }

  /**
   * Processes one measurement.
   *
   * @param seconds time since the last measurement
   */
  void take(State state, double seconds) {
    sinceNews += seconds;
    history.add(seconds, state.written());
    if (last == null) {
      last = state;
      sinceNews = 0;
    } else if (state.read() > 0 && (state.read() != last.read() || sinceNews >= STALL_SECONDS)) {
      control(state);
      last = state;
      sinceNews = 0;
    }
    history.setRate(inForce);
    history.forgetBefore(last.read());
  }

  private void control(State state) {
    noteAllFlows(state);
    double previousRate = controller.rate();
    double lag = history.fullSeconds(state.read(), state.written()) * allFlows;
    long taken = state.tuples() - last.tuples();
    double rate =
        controller.next(new SamplingController.Measurement(sinceNews, allFlows, taken, lag));
    if (!hasReported || rate != previousRate || Math.min(rate, inForce) < controller.maxRate()) {
      // The rate is sent repeatedly, since a monitor that has restarted does not know it, and at
      // least once, since an earlier control plane may have sent a lower one.
      hasReported = true;
      inForce = limit.applyAsDouble(rate);
    }
  }

  /**
   * Derives the rate of all flows from records that were read, regardless of when they were
   * written.
   */
  private void noteAllFlows(State state) {
    double seconds = history.fullSeconds(last.read(), state.read());
    if (seconds > 0) {
      allFlows = smooth(allFlows, (state.tuples() - last.tuples()) / seconds);
    }
  }

  private static double smooth(double old, double now) {
    return old == 0 ? now : (1 - NEW_SHARE) * old + NEW_SHARE * now;
  }

  /** Stops watching, without waiting for a check in progress. */
  @Override
  public void close() {
    thread.interrupt();
  }
}
