import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import a11y from 'eslint-plugin-jsx-a11y';
import react from 'eslint-plugin-react';
import hooks from 'eslint-plugin-react-hooks';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['lib', 'coverage', 'node_modules', 'src/api/schema.ts', 'style/*.js'] },
  js.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx', '**/*.mts'],
    extends: [ts.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.test.json' } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      // Lab's own shape of tokens and commands: a namespace of constants.
      '@typescript-eslint/no-namespace': 'off',
      '@typescript-eslint/no-redeclare': 'off',
      'no-redeclare': 'off',
      curly: 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }]
    }
  },
  {
    files: ['**/*.tsx'],
    extends: [react.configs.flat.recommended, a11y.flatConfigs.recommended],
    plugins: { 'react-hooks': hooks },
    settings: { react: { version: '18' } },
    rules: {
      ...hooks.configs.recommended.rules,
      'react/prop-types': 'off',
      // A part that scrolls must be reachable by keyboard.
      'jsx-a11y/no-noninteractive-tabindex': ['error', { tags: [], roles: ['region'] }],
      // A text that is written straight into the page is a text that nobody translates.
      'react/jsx-no-literals': ['error', { allowedStrings: [' · ', ' ', '/'] }]
    }
  },
  {
    files: ['**/*.mjs'],
    languageOptions: { globals: { console: 'readonly', process: 'readonly' } }
  },
  prettier
);
