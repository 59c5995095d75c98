package io.tapline.aggregates;

/**
 * An aggregate over the values of a group of tuples: its name, its type of input, and the
 * accumulators that compute it.
 *
 * <p>The stream job computes an aggregate in parts (per monitor, pane and bucket) and merges them
 * in any order. So a result must depend on the values alone, not on the order of values or merges.
 *
 * <p>Implementations are found by {@link java.util.ServiceLoader}: a class with a public
 * constructor without parameters, named in {@code
 * META-INF/services/io.tapline.aggregates.MergeableAggregate}. The compiler creates a processor for
 * each, with arguments that follow from the methods below. Instances are stateless and thread-safe.
 */
public interface MergeableAggregate {
  /** The type of values that an aggregate is computed from. */
  enum Input {
    /** Tuples, regardless of their values; {@link Group#tuples} returns their number. */
    TUPLES,
    /** The values of a numeric field, or durations. */
    NUMBERS,
    /** 64-bit hashes of a field's values, which may have any type. */
    HASHES
  }

  /**
   * Returns the name in queries: lower-case letters, digits and {@code _}. In plans, the name is in
   * upper case.
   */
  String name();

  /** Returns a description for {@code tapline processors}, for example "the sum of a field". */
  String description();

  /** Returns empty accumulators for the groups of a table. */
  Accumulators accumulators();

  default Input input() {
    return Input.NUMBERS;
  }

  /**
   * Returns the version of the accumulators' format. A checkpoint with another version is rejected.
   */
  default int version() {
    return 1;
  }

  /** Returns the unit of the result. */
  default String unit(String ofValues) {
    return ofValues;
  }

  /**
   * Returns true if the value alone is the result, so that {@code agg=} and trigger conditions may
   * name the aggregate.
   */
  default boolean isNumber() {
    return true;
  }

  /**
   * Returns true if a query may name this aggregate in PROCESS. Otherwise only other processors use
   * it.
   */
  default boolean isProcessor() {
    return true;
  }

  /**
   * Returns true if the aggregate takes a quantile argument ({@code p=}); see {@link Group#share}.
   */
  default boolean takesShare() {
    return false;
  }

  /** Returns true if the aggregate needs a window of known length; see {@link Group#windowNs}. */
  default boolean needsWindow() {
    return false;
  }

  /** Returns true if the aggregate also accepts boolean fields, as 1 and 0. */
  default boolean takesFlags() {
    return false;
  }

  /** Returns true if the result for a group without values is 0 instead of unknown. */
  default boolean countsNone() {
    return input() != Input.NUMBERS;
  }

  /**
   * Returns true if results use {@link Group#total} or {@link Group#mean}, which take 256 bytes per
   * group if flows are sampled.
   */
  default boolean estimatesTotals() {
    return false;
  }

  /** Returns a group's memory as a multiple of a count's. */
  default int weight() {
    return 1;
  }

  /** Returns the name of the JSON object that contains {@link Accumulators#details}. */
  default String detailsName() {
    return "details";
  }
}
