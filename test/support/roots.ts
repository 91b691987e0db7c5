/** The composition roots, as `src/cli/main.ts` hands them to the commands. */
export const roots = {
  pipeline: () => import('../../src/run.js'),
  webhook: () => import('../../src/webhook.js'),
  relay: () => import('../../src/relay.js'),
}
