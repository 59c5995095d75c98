package io.tapline.control.rest;

import io.tapline.control.diagnose.FlowUnit;
import io.tapline.control.diagnose.QueueDiagnosis;
import io.tapline.control.diagnose.QueueReport;
import io.tapline.control.diagnose.QueueReports;
import io.tapline.control.drill.DrillException;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueueBursts;
import io.tapline.control.query.QueueBursts.MeasuredQueues;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;

/** Diagnoses queues from the events of running and ended queries. */
final class QueueReporter implements QueueReports {
  private final QueueBursts bursts;

  QueueReporter(QueryService queries) {
    this.bursts = new QueueBursts(queries);
  }

  @Override
  public QueueReport of(String written, long fromNs, long toNs, Predicate<String> allowed)
      throws DrillException {
    String queue = resolve(written);
    List<MeasuredQueues> queries =
        bursts.measuring().stream()
            .filter(one -> one.measures(queue) && allowed.test(one.query()))
            .toList();
    if (queries.isEmpty()) {
      throw DrillException.notFound(
          "no query has measured bursts at %s: submit one with PARSE queue_burst … AT %s, and try again"
              .formatted(queue, queue));
    }
    QueueDiagnosis diagnosis = new QueueDiagnosis(queue, fromNs, toNs);
    for (MeasuredQueues one : queries) {
      diagnosis.addQuery(one.query(), FlowUnit.of(one.flow()));
      diagnosis.completeSince(
          bursts.read(
              one.query(),
              fromNs,
              toNs,
              (name, event) -> {
                if (name.equals(queue)) {
                  diagnosis.add(one.query(), event);
                }
              }));
    }
    return diagnosis.report();
  }

  @Override
  public List<QueueReport> all(long fromNs, long toNs, Predicate<String> allowed) {
    Map<String, QueueDiagnosis> diagnoses = new TreeMap<>();
    for (MeasuredQueues one : bursts.measuring()) {
      if (allowed.test(one.query())) {
        FlowUnit unit = FlowUnit.of(one.flow());
        one.queues()
            .forEach(queue -> of(diagnoses, queue, fromNs, toNs).addQuery(one.query(), unit));
        Set<String> measured = new HashSet<>(one.queues());
        long sinceNs =
            bursts.read(
                one.query(),
                fromNs,
                toNs,
                (queue, event) -> {
                  measured.add(queue);
                  QueueDiagnosis diagnosis = of(diagnoses, queue, fromNs, toNs);
                  diagnosis.addQuery(one.query(), unit);
                  diagnosis.add(one.query(), event);
                });
        measured.forEach(queue -> of(diagnoses, queue, fromNs, toNs).completeSince(sinceNs));
      }
    }
    return diagnoses.values().stream().map(QueueDiagnosis::report).toList();
  }

  private static QueueDiagnosis of(
      Map<String, QueueDiagnosis> diagnoses, String queue, long fromNs, long toNs) {
    return diagnoses.computeIfAbsent(queue, name -> new QueueDiagnosis(name, fromNs, toNs));
  }

  @Override
  public String neighbour(String queue) {
    return bursts.neighbour(queue);
  }

  private String resolve(String written) throws DrillException {
    try {
      return bursts.resolve(written);
    } catch (IllegalArgumentException e) {
      throw DrillException.invalid(e.getMessage());
    }
  }
}
