// The server object and host resources on the wire (spec 2.3, 2.15).
import { Type, type Static } from 'typebox';

/** The time during which the server's event loop was blocked: it answered no other client then. */
export const EventLoopFigures = Type.Object({
  /** Longer times are counted, and the log names the requests in progress. Milliseconds. */
  limit_ms: Type.Integer(),
  /** The longest time since the server started. Milliseconds. */
  longest_ms: Type.Integer(),
  /** Times above the limit since the server started. */
  over_limit: Type.Integer(),
});

export const ServerEnvironment = Type.Object({
  addresses: Type.Array(Type.String()),
  architectures: Type.Array(Type.String()),
  certificate: Type.String(),
  certificate_fingerprint: Type.String(),
  driver: Type.String(),
  driver_version: Type.String(),
  /** LXD has none. */
  event_loop: Type.Optional(EventLoopFigures),
  kernel: Type.String(),
  kernel_architecture: Type.String(),
  kernel_features: Type.Record(Type.String(), Type.String()),
  kernel_version: Type.String(),
  project: Type.String(),
  /** The reason why the server refuses all writes but deletions, and the remedy; absent when it accepts writes. */
  read_only: Type.Optional(Type.String()),
  server: Type.String(),
  server_clustered: Type.Boolean(),
  server_name: Type.String(),
  server_pid: Type.Integer(),
  server_version: Type.String(),
  storage: Type.String(),
  /** Drivers available for pools on this host. Absent on older servers. */
  storage_supported_drivers: Type.Optional(
    Type.Array(Type.Object({ Name: Type.String(), Version: Type.String(), Remote: Type.Boolean() })),
  ),
  storage_version: Type.String(),
  /** True if no container may be privileged; else absent. */
  unprivileged_only: Type.Optional(Type.Boolean()),
});
export type ServerEnvironment = Static<typeof ServerEnvironment>;

export const ServerUntrusted = Type.Object({
  api_extensions: Type.Array(Type.String()),
  api_status: Type.String(),
  api_version: Type.String(),
  auth: Type.String(),
  public: Type.Boolean(),
});

export const Server = Type.Intersect([
  ServerUntrusted,
  Type.Object({
    /** Authentication methods: tls, candid, oidc. */
    auth_methods: Type.Optional(Type.Array(Type.String())),
    config: Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()])),
    environment: ServerEnvironment,
  }),
]);
export type Server = Static<typeof Server>;

/** Values are strings; `true` on a hidden key keeps the stored value; null unsets. Checked key by key. */
export const ServerPut = Type.Object({ config: Type.Optional(Type.Record(Type.String(), Type.Unknown())) });
export type ServerPut = Static<typeof ServerPut>;

export const Resources = Type.Object({
  cpu: Type.Object({
    sockets: Type.Array(
      Type.Object({
        cores: Type.Integer(),
        frequency: Type.Integer(),
        frequency_turbo: Type.Integer(),
        name: Type.String(),
        vendor: Type.String(),
        threads: Type.Integer(),
        socket: Type.Integer(),
        numa_node: Type.Integer(),
      }),
    ),
    total: Type.Integer(),
  }),
  memory: Type.Object({ used: Type.Integer(), total: Type.Integer() }),
});
export type Resources = Static<typeof Resources>;
