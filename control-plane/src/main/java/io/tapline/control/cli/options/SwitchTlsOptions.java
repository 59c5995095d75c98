package io.tapline.control.cli.options;

import io.tapline.control.cli.console.UsageException;
import io.tapline.sdn.switches.SwitchTls;
import java.nio.file.Path;
import java.util.Optional;
import picocli.CommandLine.Option;

/** Options for switches that connect over TLS. */
public final class SwitchTlsOptions {
  @Option(
      names = "--openflow-client-ca",
      paramLabel = "FILE",
      description =
          "With --tls openflow: authorities, as PEM, that sign switches' certificates. Default: those of --tls-ca.")
  private Path authorities;

  @Option(
      names = "--openflow-any-datapath",
      description =
          "With --tls openflow: accept a certificate without a datapath ID (subjectAltName URI:tapline:datapath:0x1) for any switch. By default its switch is rejected.")
  private boolean anyDatapath;

  /** Returns the TLS settings; empty if connections to switches are unencrypted. */
  public Optional<SwitchTls> tls(TlsOptions own) {
    if (own.of(TlsOptions.Service.OPENFLOW).isEmpty() && (authorities != null || anyDatapath)) {
      throw new UsageException(
          "--openflow-client-ca and --openflow-any-datapath require --tls openflow");
    }
    return own.context(TlsOptions.Service.OPENFLOW, authorities)
        .map(context -> new SwitchTls(context, anyDatapath));
  }
}
