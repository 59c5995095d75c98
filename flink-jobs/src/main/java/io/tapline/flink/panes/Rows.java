package io.tapline.flink.panes;

import io.tapline.aggregates.Value;
import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.group.Answers;
import io.tapline.flink.group.Estimate;
import io.tapline.flink.group.Exemplars;
import io.tapline.flink.group.GroupTable;
import io.tapline.flink.group.Student;
import io.tapline.flink.results.ResultRow;
import io.tapline.flink.results.WindowRows;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NavigableMap;
import java.util.PriorityQueue;

/**
 * Selects and builds the rows of a closed window: the best groups of a ranking, or every group up
 * to a limit.
 */
final class Rows {
  private final ProcessorSpec spec;
  private final int max;
  private final Comparator<ResultRow> order;
  private final Comparator<Value> valueOrder;

  /**
   * Half-width of the bounds of sampled values, in standard errors; a ranking's bounds are valid
   * for all its rows together.
   */
  private final double width;

  Rows(ProcessorSpec spec, int maxRows) {
    this.spec = spec;
    this.max = spec.rows(maxRows);
    boolean ascending = spec.isAscending();
    this.order = ResultRow.order(ascending);
    this.valueOrder = Value.order(ascending);
    this.width = Student.quantile(spec.isRanking() ? spec.ranking().rows() : 1);
  }

  /** A row with its entry in the table. */
  private record Candidate(ResultRow row, int entry) {}

  /**
   * Returns the rows of a bucket, best first.
   *
   * @param window sums over all panes; entries without tuples are groups that have left the window
   * @param panes the window's panes, from which exemplars are taken
   */
  WindowRows of(
      GroupTable window,
      NavigableMap<Long, GroupTable> panes,
      long startNs,
      long endNs,
      boolean partial) {
    PriorityQueue<Candidate> best =
        new PriorityQueue<>(Comparator.comparing(Candidate::row, order.reversed()));
    Estimate estimate = spec.estimate(window, width, endNs - startNs);
    long omitted = 0;
    double worst = Double.NaN;
    for (int entry = 0; entry < window.size(); entry++) {
      if (window.isEmpty(entry)) {
        continue;
      }
      if (isWorse(window.glance(entry), worst)) {
        omitted++;
        continue;
      }
      Value value = estimate.of(entry);
      if (spec.condition() != null && !spec.condition().holds(value.number())
          || spec.isRanking() && !value.isKnown()) {
        continue;
      }
      if (best.size() == max && isWorse(value, best.peek().row().value())) {
        omitted++;
        continue;
      }
      best.add(new Candidate(ResultRow.candidate(window.key(entry), value), entry));
      if (best.size() > max) {
        best.poll();
        omitted++;
      }
      boolean full = best.size() == max && spec.condition() == null;
      worst = full ? best.peek().row().value().number() : Double.NaN;
    }
    return new WindowRows(
        spec.index(),
        startNs,
        endNs,
        partial,
        rows(best, window, estimate, panes),
        spec.isRanking() ? 0 : omitted);
  }

  /**
   * Returns true if the number is worse than the worst one kept, which rejects most groups; false
   * if either is NaN, so that the values are compared.
   */
  private boolean isWorse(double number, double worstKept) {
    return spec.isAscending() ? number > worstKept : number < worstKept;
  }

  /**
   * Returns true if the value is worse than the worst one kept, so its row need not be built. The
   * keys of equal values are compared later.
   */
  private boolean isWorse(Value value, Value worstKept) {
    return valueOrder.compare(value, worstKept) > 0;
  }

  private List<ResultRow> rows(
      PriorityQueue<Candidate> best,
      GroupTable window,
      Estimate estimate,
      NavigableMap<Long, GroupTable> panes) {
    List<ResultRow> rows = new ArrayList<>(best.size());
    for (Candidate candidate : best) {
      ResultRow row = candidate.row();
      rows.add(
          new ResultRow(
              row.key(),
              row.value(),
              estimate.details(candidate.entry()),
              counts(estimate, candidate.entry()),
              exemplars(panes, row.key(), window.hash(candidate.entry())),
              null));
    }
    rows.sort(order);
    return rows;
  }

  private ResultRow.AnswerCounts counts(Estimate estimate, int entry) {
    return new ResultRow.AnswerCounts(
        estimate.absent(entry),
        estimate.answered(entry, Answers.UNANSWERED),
        estimate.answered(entry, Answers.HALF_SEEN));
  }

  /**
   * Returns a group's earliest flows. Panes are sorted by time, so the first ones with enough flows
   * suffice.
   */
  static Exemplars exemplars(NavigableMap<Long, GroupTable> panes, byte[] key, long hash) {
    Exemplars earliest = new Exemplars();
    for (GroupTable pane : panes.values()) {
      int entry = pane.find(key, hash);
      if (entry >= 0) {
        pane.exemplars(entry, earliest);
      }
      if (earliest.isFull()) {
        break;
      }
    }
    return earliest;
  }
}
