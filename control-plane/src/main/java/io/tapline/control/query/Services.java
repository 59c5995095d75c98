package io.tapline.control.query;

import io.tapline.control.PipelineException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** The services that queries need: whether they do their part. Thread-safe. */
public final class Services implements AutoCloseable {
  /** As {@link #faults} and metrics call them. */
  public static final List<String> NAMES = List.of("kafka", "flink", "redis");

  private final Backend backend;
  private final Topics topics;
  private final QueryStore store;
  private final Readiness readiness;
  private volatile double kafkaDiskFree = Double.NaN;

  /** Through connections that somebody else closes. */
  Services(Backend backend, Topics topics, QueryStore store) {
    this.backend = backend;
    this.topics = topics;
    this.store = store;
    List<Supplier<String>> asked = List.of(this::kafkaFault, this::flinkFault, store::fault);
    Map<String, Supplier<String>> questions = new LinkedHashMap<>();
    for (int i = 0; i < asked.size(); i++) {
      questions.put(NAMES.get(i), asked.get(i));
    }
    this.readiness = new Readiness(questions);
  }

  private String kafkaFault() {
    if (!topics.reachable()) {
      return "does not answer";
    }
    try {
      kafkaDiskFree = topics.diskFree();
    } catch (PipelineException e) {
      kafkaDiskFree = Double.NaN;
    }
    return "";
  }

  private String flinkFault() {
    return backend.flink().fault();
  }

  /** Asks Kafka and Redis for an answer, and the latter for jobs' functions. */
  public void require() throws PipelineException {
    topics.requireReachable();
    String silence = store.silence();
    if (!silence.isEmpty()) {
      throw new PipelineException(PipelineException.Kind.RESOURCES, silence);
    }
  }

  /** What is wrong with each; an empty text for one that is well. */
  public Map<String, String> faults() {
    return readiness.faults();
  }

  /** The same as it was found last, at once; without those that nobody has asked yet. */
  public Map<String, String> lastFaults() {
    return readiness.lastFaults();
  }

  /**
   * Of the brokers' disk that has least room, the share that was free when {@link #faults} were
   * found last; NaN if none told.
   */
  public double kafkaDiskFree() {
    return kafkaDiskFree;
  }

  /** Whether all do their part. */
  public boolean ready() {
    return faults().values().stream().allMatch(String::isEmpty);
  }

  @Override
  public void close() {
    readiness.close();
  }
}
