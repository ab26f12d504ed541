// Who may import whom: the rooms of the sources, for the architecture test.

export interface Rule {
  /** Which files it binds. */
  readonly from: RegExp;
  /** Own files they may import; their own folder always. */
  readonly own: RegExp;
  /** Packages and node modules they may import. */
  readonly packages: RegExp;
  readonly why: string;
}

const anyPackage = /./;
const driver = (family: string, why: string, packages = anyPackage): Rule => ({
  from: new RegExp(`^server/drivers/${family}/`),
  own: new RegExp(`^server/(api|lib)/|^server/drivers/([^/]+\\.ts$|${family}/)`),
  packages,
  why,
});

export const rules: readonly Rule[] = [
  {
    from: /^server\/api\//,
    own: /^server\/api\//,
    packages: /^typebox$/,
    why: 'the contract is pure data that every room and client shares',
  },
  {
    from: /^server\/lib\//,
    own: /^server\/(lib\/|api\/text\/(nearest-word|ip)\.ts)/,
    packages: /^node:/,
    why: 'lib holds tools without domain words',
  },
  {
    from: /^server\/store\//,
    own: /^server\/(store|api|lib)\//,
    packages: anyPackage,
    why: 'the store does not know what is stored',
  },
  {
    from: /^server\/membership\/etcd\//,
    own: /^server\/(membership\/etcd|store|lib)\//,
    packages: anyPackage,
    why: 'it runs a program, and does not know what members keep in it',
  },
  driver('runtime', 'a driver knows nothing above it and no other family'),
  driver('network', 'a driver knows nothing above it and no other family'),
  driver('maas', 'a driver knows nothing above it and no other family', /^node:/),
  driver('storage', 'a driver knows nothing above it and no other family'),
  driver('files', 'a driver knows nothing above it and no other family'),
  driver('devices', 'a device knows nothing above it and no other family'),
  driver('image', 'image archives are read without knowing who asks'),
  driver('remote', 'other servers are asked without knowing who asks'),
  {
    from: /^server\/records\//,
    own: /^server\/(records|api|store|lib\/shared)\//,
    packages: /^(node:|typebox$)/,
    why: 'records are documents over the store, and check what older releases left with the schemas of the API',
  },
  {
    from: /^server\/membership\//,
    own: /^server\/(membership|api|lib|records|store)\//,
    packages: /^(node:|undici$|ws$)/,
    why: 'the part in a cluster is known below the use cases, which act on it',
  },
  {
    from: /^server\/(operations|events|auth)\//,
    own: /^server\/(operations|events|auth|api|lib|records)\//,
    packages: anyPackage,
    why: 'operations, events and auth serve every use case and drive no host',
  },
  {
    from: /^server\/services\//,
    own: /^server\/(services|membership|operations|events|auth|api|lib|records|drivers|store)\//,
    packages: /^node:(?!http)/,
    why: 'use cases know no HTTP: no ws, no request and response types',
  },
  {
    from: /^server\/http\//,
    own: /^server\/(http|api|services|membership|operations|events|auth|lib)\//,
    packages: anyPackage,
    why: 'HTTP is the edge: it reaches hosts and store only through services',
  },
  {
    from: /^server\/guest\//,
    own: /^server\/(guest|api|services|operations|events|auth|lib|http\/(image-export|dialects\/dialect))[/.]/,
    packages: anyPackage,
    why: 'the guest socket is an edge like HTTP, and shares no more with it than how an image is sent',
  },
  {
    from: /^server\/traces\//,
    own: /^server\/(traces\/|api\/version\.ts|lib\/shared\/)/,
    packages: /^(node:|@opentelemetry\/)/,
    why: 'spans are recorded without knowing of what',
  },
  {
    from: /^server\/debug\//,
    own: /^server\/(debug|api|lib)\//,
    packages: /^(node:|pprof-format$)/,
    why: 'profiles are of code: they know no object and no caller',
  },
  {
    from: /^server\/client\//,
    own: /^server\/(client|api|lib\/shared)\//,
    packages: /^(node:|undici$|ws$|typebox$)/,
    why: 'the client is also used without a daemon',
  },
  {
    from: /^reconciler\/core\//,
    own: /^(reconciler\/core|server\/api)\/|^server\/lib\/shared\/(assert-never|reason|without-undefined)\.ts$/,
    packages: /^typebox$/,
    why: 'the core decides; it must be able to run anywhere',
  },
  {
    from: /^reconciler\/(manifest|engine|controller|cli)\/|^reconciler\/index/,
    own: /^(reconciler|server\/api|server\/client|server\/lib\/shared|server\/traces)\/|^server\/lib\/(self-signed|confined|durable-files)/,
    packages: anyPackage,
    why: 'the reconciler reaches the daemon through its API only',
  },
  {
    from: /^reconciler\/web\//,
    own: /^reconciler\/(web\/|controller\/contract\/index\.ts$)/,
    packages: /^(preact|@preact\/signals|@xterm\/|vite$)/,
    why: 'the page runs in a browser and knows of the controller what its contract says',
  },
  {
    from: /^provider\//,
    own: /^(provider|server\/api|server\/client|server\/lib\/shared)\/|^server\/lib\/self-signed/,
    packages: anyPackage,
    why: 'provider and reconciler never import each other',
  },
  {
    from: /^docs\/generate\//,
    own: /^(docs\/generate|server\/api|reconciler)\/|^server\/daemon\/daemon-command/,
    packages: /^(commander|marked|node:path)$/,
    why: 'the reference is made of tables and the command trees, without any IO',
  },
  {
    from: /^provider\/bindings\/cdktn\//,
    own: /^provider\/bindings\/cdktn\//,
    packages: /^(node:path|constructs|cdktn)$/,
    why: 'bindings are loaded by apps of their users: they bring nothing of the provider along, and one flavour only',
  },
  {
    from: /^packaging\//,
    own: /^(packaging\/|docs\/generate\/(man-pages|site\/site))/,
    packages: /^(node:|esbuild$)/,
    why: 'packages and the site are made of what was built and of generated pages, and the product does not know of them',
  },
  {
    from: /^provider\/wire\//,
    own: /^(provider\/(wire|framework)\/|server\/lib\/(self-signed|shared\/))/,
    packages: /^node:/,
    why: 'the wire carries any provider: it knows no resource and no daemon',
  },
  {
    from: /^provider\/framework\//,
    own: /^(provider\/framework\/|server\/(api\/text\/durations|lib\/shared\/(deadline|without-undefined))\.ts$)/,
    packages: /^$/,
    why: 'the framework knows neither wire nor daemon',
  },
];
