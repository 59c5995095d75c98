package io.tapline.control.registry;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.TlsServerCredentials;
import io.tapline.control.LocalPeer;
import io.tapline.flink.TlsFiles;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.List;
import java.util.regex.Pattern;
import javax.net.ssl.SSLSession;

/**
 * Decides which callers may have leases. Over TLS, callers must present one of the tokens, if
 * tokens are configured, and a certificate that names the host, if authorities for agents are
 * configured. Without either, as on a trusted network, callers are refused only if they are other
 * users of this host.
 */
public final class AgentAccess implements ServerInterceptor {
  /** Access without TLS, tokens or certificates; only refuses other users of this host. */
  public static final AgentAccess OPEN =
      new AgentAccess(InsecureServerCredentials.create(), false, List.of());

  /** The caller's certificate; null if none is required. */
  static final Context.Key<AgentCertificate> CERTIFICATE = Context.key("agent certificate");

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Pattern TOKEN = Pattern.compile("[\\x21-\\x7e]{16,}");

  private final ServerCredentials credentials;
  private final boolean certified;
  private final List<String> tokens;

  private AgentAccess(ServerCredentials credentials, boolean certified, List<String> tokens) {
    this.credentials = credentials;
    this.certified = certified;
    this.tokens = tokens;
  }

  /**
   * Reads the files.
   *
   * @param tls this host's certificate, and the authorities that sign agents' certificates; without
   *     authorities, no certificate is required
   * @param tokenFile file with one token per line; null if no token is required
   * @throws IOException with a user-facing message
   */
  public static AgentAccess tls(TlsFiles tls, Path tokenFile) throws IOException {
    // Throws if the files are invalid.
    tls.context();
    TlsServerCredentials.Builder credentials =
        TlsServerCredentials.newBuilder()
            .keyManager(new File(tls.certificate()), new File(tls.key()));
    if (!tls.authorities().isEmpty()) {
      credentials
          .trustManager(new AuditedTrust(tls.trust()))
          .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE);
    }
    return new AgentAccess(
        credentials.build(),
        !tls.authorities().isEmpty(),
        tokenFile == null ? List.of() : tokens(tokenFile));
  }

  private static List<String> tokens(Path file) throws IOException {
    List<String> tokens;
    try {
      tokens = Files.readAllLines(file).stream().filter(line -> !line.isEmpty()).toList();
    } catch (IOException e) {
      throw new IOException(file + ": can't be read; does it exist?", e);
    }
    if (tokens.isEmpty() || !tokens.stream().allMatch(line -> TOKEN.matcher(line).matches())) {
      throw new IOException(
          file + ": a token must be a line of at least 16 characters without spaces");
    }
    return tokens;
  }

  ServerCredentials credentials() {
    return credentials;
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    String refusal = refusal(call, headers.get(AUTHORIZATION));
    if (refusal.isEmpty()) {
      return Contexts.interceptCall(shown(call), call, headers, next);
    }
    call.close(Status.UNAUTHENTICATED.withDescription(refusal), new Metadata());
    return new ServerCall.Listener<>() {};
  }

  /** Returns why the caller is refused; empty if it is admitted. */
  private String refusal(ServerCall<?, ?> call, String authorization) {
    if (!tokens.isEmpty()) {
      return refusal(authorization);
    }
    return certified ? "" : ofAnotherUser(call);
  }

  private Context shown(ServerCall<?, ?> call) {
    SSLSession session = call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
    return certified
        ? Context.current().withValue(CERTIFICATE, AgentCertificate.of(session))
        : Context.current();
  }

  /**
   * Returns why the caller is refused; empty if it is remote, or runs as this process's user or
   * root.
   */
  private static String ofAnotherUser(ServerCall<?, ?> call) {
    boolean may =
        call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR) instanceof InetSocketAddress peer
            && call.getAttributes().get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR)
                instanceof InetSocketAddress own
            && (!peer.getAddress().isLoopbackAddress() || LocalPeer.isOwnUser(peer, own));
    return may ? "" : "the control plane runs as another user: an agent of this host needs a token";
  }

  /** Returns why the token is refused; empty if it is valid. Compares in constant time. */
  private String refusal(String authorization) {
    if (authorization == null) {
      return "a token is required";
    }
    byte[] presented = authorization.getBytes(StandardCharsets.US_ASCII);
    boolean valid = false;
    for (String token : tokens) {
      valid |=
          MessageDigest.isEqual(("Bearer " + token).getBytes(StandardCharsets.US_ASCII), presented);
    }
    return valid ? "" : "the token is invalid";
  }
}
