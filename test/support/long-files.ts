// The test files that take longest, the longest first. Test files that are not here need no more than 20 seconds on two cores.

export const longFiles: readonly string[] = ['test/e2e/kill/converge.test.ts'];
