-- The shared mailbox, inbound: what the AODB leaves for its subsystems.
-- Reference for the demo and the tests; in production the table is another's, and its names are configured ([mailbox] in msgx.toml).
-- MySQL 5.7+, MariaDB 10.3+. MSG_XML may as well be a BLOB: then it is read in the encoding that the message declares.
create table if not exists CMINMSGS (
  CMINMSGS_ID bigint unsigned not null auto_increment primary key comment 'Order of arrival; what our watermark follows',
  MSG_XML     longtext        not null                            comment 'The message',
  RECEIVED_AT datetime(3)     null                                comment 'Wall clock of the airport; for reconciliation only, decides nothing',
  PROC_FLAG   varchar(16)     null                                comment 'Processed marker: OK, SKIP or DEAD; null or empty = not yet',
  PROC_AT     datetime(3)     null                                comment 'When the marker was written, wall clock of the airport'
) engine = InnoDB default charset = utf8mb4 comment = 'Inbound messages';
