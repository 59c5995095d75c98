package io.tapline.control.query;

import java.util.function.DoubleConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks once a second how the job of a {@code SAMPLE auto} query keeps up with its topic, and tells
 * the query's monitor which share of flows the {@link SamplingController} has chosen.
 *
 * <p>A job says how far it is about once a second, not always in the same one: what is between two
 * such moments counts together. What can't be read changes nothing: the next look may see it.
 */
public final class SamplingWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SamplingWatch.class);

  /** Lag that is tolerated; the controller aims at half of it. */
  public static final double TARGET_LAG_SECONDS = 10;

  static final double LEAST_RATE = 1.0 / 1024;
  private static final long PERIOD_MS = 1_000;

  /** A job that says nothing for so long takes nothing. */
  private static final double STALL_SECONDS = 3;

  private static final double NEW_SHARE = 0.4;

  private final Gauge gauge;
  private final DoubleConsumer limit;
  private final SamplingController controller;
  private final Thread thread;
  private State last;
  private double sinceNews;
  private double consumed;
  private double perRecord;

  /**
   * How far a query is.
   *
   * @param written records in its topic since the beginning
   * @param read records that its job has read
   * @param tuples tuples in those
   */
  public record State(long written, long read, long tuples) {}

  /** Where to look. */
  public interface Gauge {
    State look() throws Exception;
  }

  /**
   * @param mostRate what the query allows
   * @param limit hears each rate below {@code mostRate}, and that one when it is reached again
   */
  public SamplingWatch(String query, double mostRate, Gauge gauge, DoubleConsumer limit) {
    this.gauge = gauge;
    this.limit = limit;
    this.controller = new SamplingController(LEAST_RATE, mostRate, TARGET_LAG_SECONDS);
    this.thread = new Thread(this::run, "sampling-" + query);
    thread.setDaemon(true);
  }

  /** Begins to look. */
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
        LOG.debug("how far a query is can't be told: {}", e.toString());
      }
    }
  }

  /** One look, so many seconds after the one before. */
  void take(State state, double seconds) {
    sinceNews += seconds;
    if (last == null) {
      last = state;
      sinceNews = 0;
    } else if (state.read() > 0 && (state.read() != last.read() || sinceNews >= STALL_SECONDS)) {
      control(state);
      last = state;
      sinceNews = 0;
    }
  }

  private void control(State state) {
    notePerRecord(state);
    double offered = (state.written() - last.written()) * perRecord / sinceNews;
    consumed = smooth(consumed, (state.tuples() - last.tuples()) / sinceNews);
    double before = controller.rate();
    double lag = Math.max(0, state.written() - state.read()) * perRecord;
    double rate = controller.next(new SamplingController.Seen(offered, consumed, lag));
    if (rate != before || rate < controller.mostRate()) {
      // Said again and again: a monitor that was started anew does not know.
      limit.accept(rate);
    }
  }

  /**
   * Of the records read lately: a monitor cuts batches by time, too, so that at a low rate they
   * hold less than those before.
   */
  private void notePerRecord(State state) {
    if (state.read() > last.read()) {
      double now = (double) (state.tuples() - last.tuples()) / (state.read() - last.read());
      perRecord = smooth(perRecord, now);
    }
  }

  private static double smooth(double old, double now) {
    return old == 0 ? now : (1 - NEW_SHARE) * old + NEW_SHARE * now;
  }

  /** Looks no more; returns at once. */
  @Override
  public void close() {
    thread.interrupt();
  }
}
