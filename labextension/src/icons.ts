import { LabIcon } from '@jupyterlab/ui-components';

// Drawn on a grid of 16, in Lab's own colour classes, so that they follow the theme.

/** A notebook page that rises to a rack: promote. */
export const promoteIcon = new LabIcon({
  name: 'siflab:promote',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">
  <g class="jp-icon3" fill="#616161">
    <path d="M8 .8 12.2 5H9.3v5.2H6.7V5H3.8z"/>
    <path d="M1.5 11.2h13v1.3h-13zM1.5 13.8h13v1.3h-13z"/>
  </g>
</svg>`
});

/** Jobs in a queue, one of them running: the Runs panel. */
export const runsIcon = new LabIcon({
  name: 'siflab:runs',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">
  <g class="jp-icon3 jp-icon-selectable" fill="#616161">
    <path d="M1.2 1.6v4.6L5 3.9z"/>
    <path d="M6.6 3.1h8.2v1.7H6.6zM1.2 8.2h13.6v1.7H1.2zM1.2 12.4h9.4v1.7H1.2z"/>
  </g>
</svg>`
});
