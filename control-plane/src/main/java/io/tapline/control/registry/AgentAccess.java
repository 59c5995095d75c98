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
 * Who may hold leases: whoever has one of the tokens, over TLS, and, where authorities of agents
 * are given, a certificate that names the host; or, within a network of their own, everybody but
 * other users of this host.
 */
public final class AgentAccess implements ServerInterceptor {
  /** Everybody, without TLS. */
  public static final AgentAccess OPEN =
      new AgentAccess(InsecureServerCredentials.create(), false, List.of());

  /** What the caller showed; null where none is asked for. */
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
   *     authorities no certificate is asked for
   * @param tokenFile a token a line; null: none is asked for
   * @throws IOException with a sentence for people
   */
  public static AgentAccess tls(TlsFiles tls, Path tokenFile) throws IOException {
    // Says what is wrong with the files.
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
      throw new IOException(file + ": can't be read; is it there?", e);
    }
    if (tokens.isEmpty() || !tokens.stream().allMatch(line -> TOKEN.matcher(line).matches())) {
      throw new IOException(file + ": a token is a line of 16 or more letters without spaces");
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

  /** Empty if the caller may. */
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

  /** Empty if it may: whoever comes from elsewhere, and here this process's user and root. */
  private static String ofAnotherUser(ServerCall<?, ?> call) {
    boolean may =
        call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR) instanceof InetSocketAddress peer
            && call.getAttributes().get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR)
                instanceof InetSocketAddress own
            && (!peer.getAddress().isLoopbackAddress() || LocalPeer.isOwnUser(peer, own));
    return may ? "" : "the control plane is another user's: an agent of this host gives a token";
  }

  /** Empty if it may. Takes as long whichever token is nearly right. */
  private String refusal(String authorization) {
    if (authorization == null) {
      return "a token is wanted";
    }
    byte[] given = authorization.getBytes(StandardCharsets.US_ASCII);
    boolean known = false;
    for (String token : tokens) {
      known |=
          MessageDigest.isEqual(("Bearer " + token).getBytes(StandardCharsets.US_ASCII), given);
    }
    return known ? "" : "the token is wrong";
  }
}
