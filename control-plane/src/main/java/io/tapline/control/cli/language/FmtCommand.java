package io.tapline.control.cli.language;

import io.tapline.compiler.Formatter;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.options.QueryText;
import io.tapline.control.query.QueryRejected;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code tapline fmt}: prints a query in its canonical layout. */
@Command(
    name = "fmt",
    description =
        "Prints a query in its canonical layout. Rejects queries that are invalid regardless of parsers and hosts.")
public final class FmtCommand implements Callable<Integer> {
  private final Console console;

  @Parameters(paramLabel = "QUERY", description = QueryText.HELP)
  private String query;

  FmtCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws QueryRejected {
    String text = QueryText.of(query);
    Formatter.Result result = Formatter.format(text);
    if (!result.errors().isEmpty()) {
      throw new QueryRejected(text, result.errors());
    }
    console.data(result.text() + "\n");
    return 0;
  }
}
