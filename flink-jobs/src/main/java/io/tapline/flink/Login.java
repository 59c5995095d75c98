package io.tapline.flink;

import java.io.Serializable;

/** User name and password for a service. */
public record Login(String user, String password) implements Serializable {
  /** No user: the service requires none, or identifies its clients by their certificates. */
  public static final Login NONE = new Login("", "");

  public boolean isNone() {
    return equals(NONE);
  }

  /** Returns {@code USER:PASSWORD}, as {@link #parse} reads it; empty for none. */
  public String format() {
    return isNone() ? "" : user + ":" + password;
  }

  /**
   * Parses the result of {@link #format}.
   *
   * @throws IllegalArgumentException if a text that is not empty lacks the user or the password;
   *     the message does not contain the text
   */
  public static Login parse(String text) {
    if (text.isEmpty()) {
      return NONE;
    }
    int colon = text.indexOf(':');
    if (colon < 1 || colon == text.length() - 1) {
      throw new IllegalArgumentException("a login must be USER:PASSWORD");
    }
    return new Login(text.substring(0, colon), text.substring(colon + 1));
  }

  /** Omits the password, so that no log or message shows it. */
  @Override
  public String toString() {
    return isNone() ? "no login" : "login of " + user;
  }
}
