package io.tapline.compiler.text;

import java.util.List;

/** A query as written, before names are resolved. Incomplete after syntax errors. */
public final class Ast {
  /** Source of the word that stands for the end of the text. */
  public static final String END = "<EOF>";

  private Ast() {}

  /**
   * One word or quoted string.
   *
   * @param text without quotes and escapes
   * @param source as written
   */
  public record Word(String text, String source, Span span) {
    public boolean isQuoted() {
      return source.startsWith("\"");
    }
  }

  public enum EndpointKind {
    ANY,
    /** An IPv4 address or a name. */
    WORD,
    IPV6
  }

  /**
   * An address in FROM or TO.
   *
   * @param endpoint the part before prefix length and port, without brackets; {@code *} for any
   * @param bracketed whether an IPv6 address was in brackets
   * @param length prefix length, or null
   * @param port {@code *} for any, null if missing
   * @param span span of the whole address
   */
  public record Address(
      EndpointKind kind, Word endpoint, boolean bracketed, Word length, Word port, Span span) {
    public boolean hasPort() {
      return port != null && !port.text().equals("*");
    }
  }

  /**
   * A queue in AT.
   *
   * @param port a neighbour of the switch, or a port number
   * @param span span of the whole queue
   */
  public record Queue(Word switchName, Word port, Span span) {}

  /**
   * An argument with at least one value; {@code list} is true if the values were in parentheses.
   */
  public record Argument(Word name, List<Word> values, boolean list) {
    public Span valueSpan() {
      Span first = values.get(0).span();
      Span last = values.get(values.size() - 1).span();
      boolean oneLine = first.line() == last.line();
      int length = oneLine ? last.column() + last.length() - first.column() : first.length();
      return new Span(first.line(), first.column(), length);
    }
  }

  /**
   * A condition, which {@code compiler.conditions} parses.
   *
   * @param text as written, with spaces in place of comments
   * @param begin position of its first character
   * @param next the word after it
   */
  public record Condition(String text, Span begin, Word next) {}

  public record Processor(Word name, List<Argument> arguments) {}

  /** A parser in PARSE with its arguments and the forms of its strings, each with one value. */
  public record Parser(Word name, List<Argument> arguments) {}

  /**
   * The position of a clause: the span of its keyword, and the indices of its first and last token.
   */
  public record Clause(ClauseKind kind, Span span, int firstToken, int lastToken) {}

  /**
   * The query. Lists are empty and words null for missing clauses; if a clause is repeated, the
   * first one counts.
   *
   * @param clauses clauses as written, at most one of each kind
   * @param end end of the text
   */
  public record Query(
      List<Clause> clauses,
      Word use,
      List<Parser> parsers,
      List<Address> from,
      List<Address> to,
      List<Queue> queues,
      List<Word> vlans,
      List<Word> tenants,
      Condition where,
      Word limit,
      Word sample,
      List<Processor> processors,
      Span end) {

    /** Returns this query, with missing clauses taken from {@code base}. */
    public Query over(Query base) {
      List<Clause> all = new java.util.ArrayList<>(clauses);
      base.clauses.stream().filter(clause -> !has(clause.kind())).forEach(all::add);
      return new Query(
          all,
          use,
          has(ClauseKind.PARSE) ? parsers : base.parsers,
          has(ClauseKind.FROM) ? from : base.from,
          has(ClauseKind.TO) ? to : base.to,
          has(ClauseKind.AT) ? queues : base.queues,
          has(ClauseKind.VLAN) ? vlans : base.vlans,
          has(ClauseKind.TENANT) ? tenants : base.tenants,
          has(ClauseKind.WHERE) ? where : base.where,
          has(ClauseKind.LIMIT) ? limit : base.limit,
          has(ClauseKind.SAMPLE) ? sample : base.sample,
          has(ClauseKind.PROCESS) ? processors : base.processors,
          end);
    }

    public boolean has(ClauseKind kind) {
      return clauses.stream().anyMatch(clause -> clause.kind() == kind);
    }
  }
}
