package io.tapline.aggregates;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.regex.Pattern;

/** The aggregates on the class path. */
public final class Aggregates {
  private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9_]*");
  private static final Map<String, MergeableAggregate> ALL = load();

  private Aggregates() {}

  /**
   * Uses the class loader of this class, since a job's class loader may have only the job's
   * classes.
   */
  private static Map<String, MergeableAggregate> load() {
    Map<String, MergeableAggregate> all = new LinkedHashMap<>();
    ClassLoader loader = Aggregates.class.getClassLoader();
    for (MergeableAggregate aggregate : ServiceLoader.load(MergeableAggregate.class, loader)) {
      if (!NAME.matcher(aggregate.name()).matches()) {
        throw new IllegalStateException(
            "%s is named '%s', which does not match %s"
                .formatted(aggregate.getClass().getName(), aggregate.name(), NAME));
      }
      MergeableAggregate previous = all.put(aggregate.name(), aggregate);
      if (previous != null) {
        throw new IllegalStateException(
            "%s and %s are both named %s"
                .formatted(
                    previous.getClass().getName(),
                    aggregate.getClass().getName(),
                    aggregate.name()));
      }
    }
    return all;
  }

  /** Returns all aggregates: the built-in ones first, in registration order. */
  public static List<MergeableAggregate> all() {
    return List.copyOf(ALL.values());
  }

  /** Returns the aggregate of this name, ignoring case. */
  public static Optional<MergeableAggregate> find(String name) {
    return Optional.ofNullable(ALL.get(name.toLowerCase(Locale.ROOT)));
  }

  /**
   * Returns the aggregate of this name, ignoring case.
   *
   * @throws IllegalArgumentException if there is none; the message lists those that exist
   */
  public static MergeableAggregate named(String name) {
    return find(name)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "no aggregate '%s' on the class path, which has %s"
                        .formatted(name, String.join(", ", ALL.keySet()))));
  }

  /** Returns an aggregate's name in plans. */
  public static String planName(MergeableAggregate aggregate) {
    return aggregate.name().toUpperCase(Locale.ROOT);
  }
}
