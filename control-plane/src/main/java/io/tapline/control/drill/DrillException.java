package io.tapline.control.drill;

import io.grpc.Status;

/** A question to the nodes that has no answer, with a sentence for people. */
public final class DrillException extends Exception {
  private static final long serialVersionUID = 1L;

  /** Whose fault it is. */
  public enum Kind {
    /** The question makes no sense. */
    INVALID,
    /** There is no such node, filter or aggregate. */
    NOT_FOUND,
    /** Ask again later. */
    BUSY,
    /** No node answers. */
    UNAVAILABLE
  }

  private final Kind kind;

  DrillException(Kind kind, String message) {
    super(message);
    this.kind = kind;
  }

  /** The question makes no sense. */
  public static DrillException invalid(String message) {
    return new DrillException(Kind.INVALID, message);
  }

  /** What it is about is not there. */
  public static DrillException notFound(String message) {
    return new DrillException(Kind.NOT_FOUND, message);
  }

  /** Whose fault it is. */
  public Kind kind() {
    return kind;
  }

  /** What a node said of a question, if it is the question's fault; else null. */
  static DrillException ofQuestion(String node, Status status) {
    return switch (status.getCode()) {
      case INVALID_ARGUMENT -> new DrillException(Kind.INVALID, status.getDescription());
      case NOT_FOUND ->
          new DrillException(Kind.NOT_FOUND, "node " + node + ": " + status.getDescription());
      default -> null;
    };
  }

  static String sentence(Status status) {
    return switch (status.getCode()) {
      case DEADLINE_EXCEEDED -> "did not answer in time";
      case UNAVAILABLE -> "can't be reached";
      default ->
          status.getDescription() == null
              ? status.getCode().name()
              : status.getCode().name() + ": " + status.getDescription();
    };
  }
}
