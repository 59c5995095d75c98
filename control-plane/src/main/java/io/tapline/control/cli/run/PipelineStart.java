package io.tapline.control.cli.run;

import io.tapline.compiler.CompileResult;
import io.tapline.compiler.Compiler;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.control.HashKeys;
import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.cli.options.ServiceOptions;
import io.tapline.control.query.QueryRejected;
import io.tapline.control.server.PipelineSession;
import java.util.List;
import java.util.Optional;

/** Starts a command's pipeline. */
final class PipelineStart {
  private PipelineStart() {}

  /**
   * Starts the pipeline after compiling the queries, so that a syntax error is reported
   * immediately.
   *
   * @param installation installation with its plug-ins
   * @param services external Kafka, Flink and Redis, if any
   * @param hashKeys hash keys of the monitors that the pipeline starts
   */
  static PipelineSession of(
      Console console,
      Installation installation,
      Inventory inventory,
      ServiceOptions services,
      HashKeys hashKeys,
      List<String> queries)
      throws PipelineException, QueryRejected {
    installation.requireMonitor();
    try (ProgressListener.Phase checking = console.progress().phase("check the query")) {
      Catalogue catalogue = installation.catalogue();
      Installation.requireTexts(inventory, catalogue);
      for (String query : queries) {
        check(query, catalogue, inventory);
      }
    }
    return PipelineSession.start(
        services.pipeline(
            console, installation, inventory, Optional.empty(), hashKeys, queries.size()),
        console);
  }

  private static void check(String query, Catalogue catalogue, Inventory inventory)
      throws QueryRejected {
    CompileResult result =
        Compiler.compile(query, catalogue, inventory, Compiler.Options.local("check"));
    if (result.plan().isEmpty()) {
      throw new QueryRejected(query, result.errors());
    }
  }
}
