package io.tapline.control.drill;

import io.grpc.Status;
import java.io.IOException;
import java.security.cert.CertificateException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLException;

/** Thrown when a query to the nodes has no result; the message is user-facing. */
public final class DrillException extends Exception {
  private static final long serialVersionUID = 1L;

  /** The kind of failure. */
  public enum Kind {
    /** The query is invalid. */
    INVALID,
    /** There is no such node, filter or aggregate. */
    NOT_FOUND,
    /** The caller or the server has reached its maximum number of running queries. */
    TOO_MANY_QUERIES,
    /** The caller or the server has reached its maximum number of watches. */
    TOO_MANY_WATCHES,
    /** The caller should retry later. */
    BUSY,
    /** No node answers. */
    UNAVAILABLE,
    /** A watch could not be stored. */
    NOT_STORED
  }

  /** gRPC's message for a connection that the other side closed without sending anything. */
  private static final String CLOSED = "Network closed for unknown reason";

  private final Kind kind;

  DrillException(Kind kind, String message) {
    super(message);
    this.kind = kind;
  }

  /** Returns the error that no node is known. */
  static DrillException noNodes() {
    return new DrillException(
        Kind.UNAVAILABLE,
        "this server has no MultiLog node: start it with --multilog NAME=HOST:PORT,"
            + " or the hosts' agents with --multilog HOST:PORT");
  }

  /** Returns the error that a watch's record can't be changed. */
  static DrillException notStored(IOException e) {
    return new DrillException(
        Kind.NOT_STORED, "the watch can't be stored, and nothing has changed: " + e.getMessage());
  }

  /** Returns an exception for an invalid query. */
  public static DrillException invalid(String message) {
    return new DrillException(Kind.INVALID, message);
  }

  /** Returns the error that a required service is unavailable. */
  public static DrillException unavailable(String message) {
    return new DrillException(Kind.UNAVAILABLE, message);
  }

  /** Returns the error that the caller or the server has reached its maximum of queries. */
  public static DrillException tooManyQueries(String message) {
    return new DrillException(Kind.TOO_MANY_QUERIES, message);
  }

  /** Returns the error that something named in the query does not exist. */
  public static DrillException notFound(String message) {
    return new DrillException(Kind.NOT_FOUND, message);
  }

  /** Returns a copy whose message begins with a location. */
  public DrillException at(String place) {
    return new DrillException(kind, place + getMessage());
  }

  /** Returns the kind of failure. */
  public Kind kind() {
    return kind;
  }

  /** Returns a node's error about a query; null if the query is not at fault. */
  static DrillException ofRequest(String node, Status status) {
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
      case UNAVAILABLE -> unreachable(status);
      case UNAUTHENTICATED, PERMISSION_DENIED -> "rejects the server: " + status.getDescription();
      default ->
          status.getDescription() == null
              ? status.getCode().name()
              : status.getCode().name() + ": " + status.getDescription();
    };
  }

  /**
   * Returns the reason why a node can't be reached. If the TLS handshake with a node fails, the
   * node is nevertheless up.
   */
  private static String unreachable(Status status) {
    List<Throwable> causes = new ArrayList<>();
    for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
      causes.add(cause);
    }
    Optional<String> untrusted =
        causes.stream()
            .filter(CertificateException.class::isInstance)
            .map(cause -> "has a certificate that is not trusted: " + cause.getMessage())
            .findFirst();
    Optional<String> noTls =
        causes.stream()
            .filter(SSLException.class::isInstance)
            .map(cause -> "failed the TLS handshake: " + cause.getMessage())
            .findFirst();
    if (causes.isEmpty() && CLOSED.equals(status.getDescription())) {
      return "closed the connection; does it require TLS (--multilog-ca)?";
    }
    return untrusted.or(() -> noTls).orElse("can't be reached");
  }
}
