import tseslint from 'typescript-eslint'

const pure = [
  'src/topology/**',
  'src/model/**',
  'src/envoy/**',
  'src/collections/**',
  'src/xds/{order,sotw,delta,snapshot,proxy,dialogue,subscription}.ts',
]

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', '**/*.gen.*', '.tap/**'] },
  {
    files: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidOperator: true },
      ],
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-restricted-syntax': ['error', { selector: 'TSEnumDeclaration', message: 'use a union' }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-depth': ['error', 3],
      complexity: ['error', 12],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: { 'max-lines': ['error', { max: 400 }] },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      'max-depth': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-floating-promises': 'off',
    },
  },
  {
    files: pure,
    rules: {
      'no-restricted-globals': ['error', 'setTimeout', 'setInterval', 'process', 'Date', 'globalThis'],
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'pure rooms are told what is random' },
      ],
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            'node:fs*',
            'node:net',
            'node:http*',
            'node:child_process',
            'net',
            'http',
            'https',
            'child_process',
            'fs',
            'node:timers*',
            'pino',
            '@grpc/*',
            'fastify',
          ],
        },
      ],
    },
  },
)
