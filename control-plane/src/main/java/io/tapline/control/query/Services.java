package io.tapline.control.query;

import io.tapline.control.PipelineException;
import io.tapline.control.query.services.Backend;
import io.tapline.control.query.services.Readiness;
import io.tapline.control.query.services.Topics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** The services that queries depend on, and their health. Thread-safe. */
public final class Services implements AutoCloseable {
  /** Names of the services in {@link #faults} and metrics. */
  public static final List<String> NAMES = List.of("kafka", "flink", "redis");

  private final Backend backend;
  private final Topics topics;
  private final QueryStore store;
  private final Readiness readiness;
  private volatile double kafkaDiskFree = Double.NaN;

  /** Creates the checks of services. The caller owns the connections. */
  Services(Backend backend, Topics topics, QueryStore store) {
    this.backend = backend;
    this.topics = topics;
    this.store = store;
    List<Supplier<String>> checks = List.of(this::kafkaFault, this::flinkFault, store::fault);
    Map<String, Supplier<String>> questions = new LinkedHashMap<>();
    for (int i = 0; i < checks.size(); i++) {
      questions.put(NAMES.get(i), checks.get(i));
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

  /**
   * Verifies that Kafka and Redis answer, and loads the jobs' functions into Redis if they are
   * missing.
   */
  public void require() throws PipelineException {
    topics.requireReachable();
    String silence = store.silence();
    if (!silence.isEmpty()) {
      throw new PipelineException(PipelineException.Kind.RESOURCES, silence);
    }
  }

  /** Returns what is wrong with each service; an empty string for a healthy one. */
  public Map<String, String> faults() {
    return readiness.faults();
  }

  /**
   * Returns the last results without waiting, and starts new checks in the background; services
   * that have not been checked yet are missing.
   */
  public Map<String, String> lastFaults() {
    return readiness.lastFaults();
  }

  /**
   * Returns the free share of the brokers' fullest disk, as of the last {@link #faults}; NaN if no
   * broker reports it.
   */
  public double kafkaDiskFree() {
    return kafkaDiskFree;
  }

  /** Returns true if all services are healthy. */
  public boolean ready() {
    return faults().values().stream().allMatch(String::isEmpty);
  }

  @Override
  public void close() {
    readiness.close();
  }
}
