// The caller of requests that sagas of tests need around them: it is trusted and works in the project default.
export const trusted = {
  class: 'trusted',
  requestor: { username: '', protocol: 'unix', address: '@' },
  project: 'default',
} as const;
