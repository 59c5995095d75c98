package io.tapline.control.rest;

import io.tapline.control.diagnose.QueueDiagnosis;
import io.tapline.control.diagnose.QueueReport;
import io.tapline.control.diagnose.QueueReports;
import io.tapline.control.drill.DrillException;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueueBursts;
import java.util.List;

/** Diagnoses queues from the events of running and ended queries. */
final class QueueReporter implements QueueReports {
  private final QueueBursts bursts;

  QueueReporter(QueryService queries) {
    this.bursts = new QueueBursts(queries);
  }

  @Override
  public QueueReport of(String written, long fromNs, long toNs) throws DrillException {
    String queue = resolve(written);
    List<String> queries = bursts.measuring(queue);
    if (queries.isEmpty()) {
      throw DrillException.notFound(
          "no query has measured bursts at %s: submit one with PARSE queue_burst … AT %s, and ask again"
              .formatted(queue, queue));
    }
    QueueDiagnosis diagnosis = new QueueDiagnosis(queue, fromNs, toNs);
    for (String query : queries) {
      diagnosis.addQuery(query);
      bursts.read(query, queue, diagnosis::add);
    }
    return diagnosis.report();
  }

  private String resolve(String written) throws DrillException {
    try {
      return bursts.resolve(written);
    } catch (IllegalArgumentException e) {
      throw DrillException.invalid(e.getMessage());
    }
  }
}
