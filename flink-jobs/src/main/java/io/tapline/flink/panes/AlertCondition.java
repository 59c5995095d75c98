package io.tapline.flink.panes;

import io.tapline.aggregates.Value;
import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.group.Estimate;
import io.tapline.flink.group.GroupTable;
import io.tapline.flink.group.Student;
import java.util.ArrayList;
import java.util.List;

/** Decides from a window's groups whether an alert begins, and whether it lasts. */
final class AlertCondition {
  private final ProcessorSpec spec;

  AlertCondition(ProcessorSpec spec) {
    this.spec = spec;
  }

  /**
   * The outcome for a group.
   *
   * @param begins whether an alert may begin
   * @param lasts whether an alert that has begun lasts
   * @param value the value that alerts show
   */
  record Outcome(boolean begins, boolean lasts, Value value) {}

  /** Returns true if missing tuples alone could begin an alert. */
  boolean wantsAll() {
    return spec.when() == null ? spec.condition().wantsAll() : spec.when().wantsAll();
  }

  /** A window in which groups are tested. Not thread-safe. */
  final class Window {
    private final List<GroupTable> sums;
    private final List<Estimate> estimates = new ArrayList<>();
    private final Value[] values;

    /**
     * Prepares to test a window's groups.
     *
     * @param sums the groups' sums: the processor's own, then those of its operands
     * @param windowNs length of the window
     */
    Window(List<GroupTable> sums, long windowNs) {
      this.sums = sums;
      values = new Value[sums.size()];
      for (int i = 0; i < sums.size(); i++) {
        ProcessorSpec value = i == 0 ? spec : spec.operands().get(i - 1);
        estimates.add(value.estimate(sums.get(i), Student.quantile(1), windowNs));
      }
    }

    /** Tests the group of an entry of the processor's own sums. */
    Outcome of(int entry) {
      values[0] = estimates.get(0).of(entry);
      if (spec.when() == null) {
        double number = values[0].number();
        return new Outcome(
            spec.condition().holds(number),
            spec.condition().holds(number, spec.trigger().clear()),
            values[0]);
      }
      byte[] key = sums.get(0).key(entry);
      long hash = sums.get(0).hash(entry);
      for (int i = 1; i < values.length; i++) {
        int found = sums.get(i).find(key, hash);
        boolean isEmpty = found < 0 || sums.get(i).isEmpty(found);
        values[i] = isEmpty ? Value.NONE : estimates.get(i).of(found);
      }
      var when = spec.when().evaluate(values);
      boolean lasts = spec.clear() == null ? when.holds() : spec.clear().evaluate(values).holds();
      return new Outcome(when.holds(), lasts, when.compared());
    }
  }
}
