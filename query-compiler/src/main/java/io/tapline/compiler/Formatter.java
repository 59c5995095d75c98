package io.tapline.compiler;

import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.catalogue.ProcessorInfo;
import io.tapline.compiler.conditions.ConditionPrinter;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.ClauseKind;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Syntax;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.antlr.v4.runtime.Token;

/**
 * The canonical layout of queries. Formatting preserves meaning and comments; a comment moves to
 * its own lines before the clause that contains or follows it.
 *
 * <pre>
 * PARSE tcp_conn_time, http_get
 * FROM * TO h1:80, h2:3306
 * LIMIT 90s SAMPLE auto
 * PROCESS (diff-group: group=get), (top-k: k=10, w=10s)
 * </pre>
 */
public final class Formatter {
  /**
   * A query in canonical layout, or the errors that prevent it.
   *
   * @param text empty if there are errors; ends without a line feed
   * @param errors errors of syntax, values and ranges; names of parsers, fields and hosts are not
   *     resolved
   */
  public record Result(String text, List<QueryError> errors) {
    public Result {
      errors = List.copyOf(errors);
    }
  }

  /**
   * Maximum width of a line. Longer lines are broken after a ','; FROM, TO and AT, or LIMIT and
   * SAMPLE, share a line up to this width.
   */
  private static final int WIDTH = 100;

  private static final String INDENT = "    ";

  private final StringBuilder out = new StringBuilder();
  private final Syntax syntax;
  private int nextToken = 0;

  private Formatter(Syntax syntax) {
    this.syntax = syntax;
  }

  /**
   * Formats a query; formatting is idempotent. Rejects queries that are invalid regardless of
   * parsers and hosts.
   */
  public static Result format(String text) {
    Errors errors = new Errors();
    Syntax syntax = Syntax.read(text, errors);
    Validation.check(syntax.query(), errors);
    return errors.any() ? new Result("", errors.sorted()) : new Result(layOut(syntax), List.of());
  }

  /** Returns the canonical layout. REQUIRES: the text had no syntax errors. */
  static String layOut(Syntax syntax) {
    Formatter formatter = new Formatter(syntax);
    ClauseKind previous = null;
    for (Ast.Clause clause : syntax.query().clauses()) {
      List<String> comments = formatter.commentsUpTo(clause.lastToken());
      formatter.clause(previous, clause.kind(), comments);
      previous = clause.kind();
    }
    formatter.commentsUpTo(syntax.tokens().size() - 1).forEach(formatter::ownLine);
    return formatter.out.toString();
  }

  /** Returns the comments that were not returned before, up to a token and the end of its line. */
  private List<String> commentsUpTo(int lastToken) {
    List<String> comments = new ArrayList<>();
    int line = syntax.tokens().get(lastToken).getLine();
    for (; nextToken < syntax.tokens().size(); nextToken++) {
      Token token = syntax.tokens().get(nextToken);
      boolean comment = token.getChannel() != Token.DEFAULT_CHANNEL;
      if (nextToken > lastToken && !(comment && token.getLine() == line)) {
        break;
      }
      if (comment) {
        comments.add(token.getText().stripTrailing());
      }
    }
    return comments;
  }

  private void clause(ClauseKind previous, ClauseKind kind, List<String> comments) {
    comments.forEach(this::ownLine);
    List<String> items = items(kind);
    int lineBegin = out.lastIndexOf("\n") + 1;
    int length = kind.keyword.length() + 2 + String.join(", ", items).length();
    boolean isPair =
        previous == ClauseKind.FROM && kind == ClauseKind.TO
            || previous == ClauseKind.TO && kind == ClauseKind.AT
            || previous == ClauseKind.LIMIT && kind == ClauseKind.SAMPLE;
    boolean oneLine = out.indexOf("\n" + INDENT, Math.max(0, lineBegin - 1)) < 0;
    if (isPair && comments.isEmpty() && oneLine && out.length() - lineBegin + length <= WIDTH) {
      out.append(' ').append(kind.keyword).append(' ').append(String.join(", ", items));
    } else {
      startLine();
      out.append(wrapped(kind.keyword + " ", items));
    }
  }

  private void ownLine(String text) {
    startLine();
    out.append(text);
  }

  private void startLine() {
    if (out.length() > 0) {
      out.append('\n');
    }
  }

  /** Appends items to a prefix, as many per line as fit. */
  private static String wrapped(String begin, List<String> items) {
    StringBuilder text = new StringBuilder(begin);
    int lineBegin = 0;
    for (int i = 0; i < items.size(); i++) {
      String item = items.get(i) + (i + 1 < items.size() ? "," : "");
      if (i > 0 && text.length() - lineBegin + 1 + item.length() > WIDTH) {
        text.append('\n');
        lineBegin = text.length();
        text.append(INDENT);
      } else if (i > 0) {
        text.append(' ');
      }
      text.append(item);
    }
    return text.toString();
  }

  private List<String> items(ClauseKind kind) {
    Ast.Query query = syntax.query();
    return switch (kind) {
      case USE -> List.of(query.use().source());
      case PARSE -> query.parsers().stream().map(Formatter::parser).toList();
      case FROM -> query.from().stream().map(Formatter::address).toList();
      case TO -> query.to().stream().map(Formatter::address).toList();
      case AT -> query.queues().stream().map(Formatter::queue).toList();
      case VLAN -> query.vlans().stream().map(Ast.Word::source).toList();
      case TENANT -> query.tenants().stream().map(Ast.Word::source).toList();
      case WHERE -> List.of(condition(query.where()));
      case LIMIT -> List.of(Names.lower(query.limit().text()));
      case SAMPLE -> List.of(Names.lower(query.sample().text()));
      case PROCESS -> query.processors().stream().map(Formatter::processor).toList();
    };
  }

  private static String parser(Ast.Parser parser) {
    String name = Names.normal(parser.name().text());
    return parser.arguments().isEmpty()
        ? name
        : parser.arguments().stream()
            .map(Formatter::parserArgument)
            .collect(Collectors.joining(", ", name + "(", ")"));
  }

  private static String parserArgument(Ast.Argument argument) {
    return Names.normal(argument.name().text())
        + "="
        + Names.lower(argument.values().get(0).text());
  }

  private static String address(Ast.Address address) {
    boolean bracketed =
        address.bracketed() || address.kind() == Ast.EndpointKind.IPV6 && address.port() != null;
    String endpoint = address.endpoint().source();
    String length = address.length() == null ? "" : "/" + address.length().text();
    String port = address.hasPort() ? ":" + address.port().text() : "";
    boolean brackets = bracketed && (!port.isEmpty() || address.length() != null);
    return (brackets ? "[" + endpoint + "]" : endpoint) + length + port;
  }

  private static String queue(Ast.Queue queue) {
    return queue.switchName().source() + ":" + queue.port().source();
  }

  /**
   * Returns a condition in canonical form. Leaves an invalid condition as written, since it is
   * reported elsewhere.
   */
  private static String condition(Ast.Condition condition) {
    return ParsedCondition.of(condition, new Errors())
        .map(parsed -> ConditionPrinter.text(parsed.tree()))
        .orElse(condition.text());
  }

  private static String processor(Ast.Processor processor) {
    String written = processor.name().text();
    String name =
        ProcessorCatalogue.find(written).map(ProcessorInfo::name).orElse(Names.lower(written));
    if (processor.arguments().isEmpty()) {
      return "(" + name + ")";
    }
    return processor.arguments().stream()
        .map(Formatter::argument)
        .collect(Collectors.joining(", ", "(" + name + ": ", ")"));
  }

  private static String argument(Ast.Argument argument) {
    String values =
        argument.values().stream().map(Ast.Word::source).collect(Collectors.joining(", "));
    boolean list = argument.values().size() > 1;
    return Names.normal(argument.name().text()) + "=" + (list ? "(" + values + ")" : values);
  }
}
