-- The shared mailbox, outbound: what we ask of the AODB.
-- Reference for the demo and the tests; in production the table is another's.
-- MySQL 5.7+, MariaDB 10.3+.
create table if not exists COUTMSGS (
  COUTMSGS_ID bigint unsigned not null auto_increment primary key comment 'Order of sending',
  MSG_XML     longtext        not null                            comment 'The message',
  CREATED_AT  datetime(3)     null                                comment 'Wall clock of the airport',
  SENT_FLAG   varchar(16)     null                                comment 'Set by the message server once it has taken the message'
) engine = InnoDB default charset = utf8mb4 comment = 'Outbound messages';
